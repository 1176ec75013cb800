mod networks;
use networks::*;
use tenuto_bounds::*;
#[test]
fn look() {
    let sizes: Vec<usize> = std::env::var("N")
        .unwrap_or("4,6,8".into())
        .split(',')
        .map(|x| x.parse().unwrap())
        .collect();
    let shaped = std::env::var("U").is_err();
    for n in sizes {
        let mut g = interleaved(n, 80, shaped);
        let only = g.flows.len();
        for f in 1..only {
            g.flows[f].targets.clear();
        }
        let a = analyse(
            &g,
            &Options { dates_max: 1200, rows_max: 300_000, ..Options::default() },
            &mut |_| (),
        );
        let text = serde_json::to_string(&a.document(&g)).unwrap();
        let t = std::time::Instant::now();
        println!("{} bytes {:?}", text.len(), tenuto_certify::certify_bounds(&text));
        println!("N certified in {:?}", t.elapsed());
        println!("N {n}: {:?}", worst_ms(&a.bounds));
    }
}
