mod networks;
use networks::*;
use tenuto_bounds::*;
fn sizes(d: &str) -> Vec<usize> {
    std::env::var("N").unwrap_or(d.into()).split(',').map(|x| x.parse().unwrap()).collect()
}
fn opts() -> Options {
    let e = |n: &str, d: usize| std::env::var(n).ok().and_then(|x| x.parse().ok()).unwrap_or(d);
    Options {
        tree_servers_max: e("TREE", 64),
        dates_max: e("DATES", 1000),
        rows_max: e("ROWS", 12000),
        ..Options::default()
    }
}
fn run(name: &str, g: &ServerGraph) -> Analysis {
    let t = std::time::Instant::now();
    let a = analyse(g, &opts(), &mut |_| ());
    let t1 = t.elapsed();
    let t = std::time::Instant::now();
    let text = serde_json::to_string(&a.document(g)).unwrap();
    let c = tenuto_certify::certify_bounds(&text);
    println!(
        "{name}: {:?} in {t1:?}; {} bytes, {} certified in {:?}; {:?}",
        worst_ms(&a.bounds),
        text.len(),
        c.is_ok(),
        t.elapsed(),
        c.err().map(|v| v[0].to_string())
    );
    a
}
#[test]
fn look() {
    let shaped = std::env::var("U").is_err();
    for n in sizes("4,6,8") {
        let mut g = interleaved(n, 80, shaped);
        let only = g.flows.len();
        for f in 1..only {
            g.flows[f].targets.clear();
        }
        let a = run(&format!("N {n}"), &g);
        println!("{:?}", a.bounds[0].method);
    }
}
#[test]
fn rtns() {
    for n in [7, 21, 11, 1, 5, 16, 2] {
        let p = rtns::load(n).unwrap();
        let a = run("rtns", &p.graph);
        let mut r = vec![];
        let mut worst = 0.0f64;
        let mut least = 9.0f64;
        for (b, q) in a.bounds.iter().zip(&p.bounds) {
            let x = b.delay.unwrap().0 as f64 / 1e12 / q["FF_LPA"].as_f64().unwrap();
            worst = worst.max(x);
            least = least.min(x);
            r.push(x);
        }
        println!(
            "NET {n}: flows {} mean {:.5} worst {worst:.4} least {least:.8}",
            r.len(),
            r.iter().sum::<f64>() / r.len() as f64
        );
    }
}
#[test]
fn rings() {
    for n in sizes("3,5") {
        for load in [50, 70, 80] {
            let a = run(&format!("ring {n} {load}"), &ring(n, load, true));
            println!("{:?}", a.bounds[0].method);
        }
    }
}
#[test]
fn meshes() {
    for n in sizes("5,7,9") {
        let a = run(&format!("mesh {n}"), &mesh(n, 50, true));
        println!("{:?}", a.bounds[0].method);
    }
}
