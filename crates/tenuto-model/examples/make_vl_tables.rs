//! Draws the virtual link tables of `networks/` after the distributions of [DetOF] Tables I and
//! II: `cargo run -p tenuto-model --example make_vl_tables -- a380-switch > networks/a380-switch-vls.csv`.
//!
//! The same seed gives the same table; a test compares the shipped files with what this draws.

use std::fmt::Write;

#[allow(clippy::disallowed_methods, reason = "an example reads its arguments")]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("a380-switch") => print!("{}", a380_switch()),
        Some("avionics") => print!("{}", avionics()),
        _ => eprintln!("usage: make_vl_tables a380-switch | avionics"),
    }
}

/// BAG in ms, and how many virtual links have it; the same for ranges of frame lengths.
struct Mix {
    bags: [(u32, usize); 7],
    frames: [(u32, u32, usize); 7],
}

/// 649 of the 984 virtual links of Table II, each row in proportion; the BAGs give 33734 frames
/// per second, where Table I states 33736.
const A380: Mix = Mix {
    bags: [(2, 13), (4, 26), (8, 53), (16, 93), (32, 151), (64, 145), (128, 168)],
    frames: [
        (64, 150, 370),
        (151, 300, 133),
        (301, 600, 75),
        (601, 900, 38),
        (901, 1200, 8),
        (1201, 1500, 23),
        (1501, 1518, 2),
    ],
};

/// Sixty in the same proportion.
const SIXTY: Mix = Mix {
    bags: [(2, 1), (4, 3), (8, 5), (16, 9), (32, 13), (64, 13), (128, 16)],
    frames: [
        (64, 150, 34),
        (151, 300, 12),
        (301, 600, 7),
        (601, 900, 4),
        (901, 1200, 1),
        (1201, 1500, 2),
        (1501, 1518, 0),
    ],
};

const END_SYSTEMS: [(&str, [&str; 5]); 12] = [
    ("fcc1", ["pitch", "roll", "yaw", "trim", "status"]),
    ("fcc2", ["pitch", "roll", "yaw", "trim", "status"]),
    ("fcc3", ["pitch", "roll", "yaw", "trim", "status"]),
    ("irs1", ["attitude", "rates", "acceleration", "position", "heading"]),
    ("irs2", ["attitude", "rates", "acceleration", "position", "heading"]),
    ("adc1", ["airspeed", "altitude", "mach", "temperature", "incidence"]),
    ("fms1", ["route", "guidance", "fuel", "performance", "clock"]),
    ("disp1", ["touch", "page", "acknowledge", "config", "health"]),
    ("disp2", ["touch", "page", "acknowledge", "config", "health"]),
    ("acg1", ["surface", "load", "temperature", "status", "fault"]),
    ("acg2", ["surface", "load", "temperature", "status", "fault"]),
    ("rdc1", ["pressure", "valves", "doors", "gear", "brakes"]),
];

/// Knuth's MMIX generator; the upper half of the state is used.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let limit = u64::try_from(limit).expect("64 bits are enough");
        usize::try_from((self.0 >> 33) % limit).expect("below the limit")
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// BAG and frame length of each virtual link, paired at random.
    fn contracts(&mut self, mix: &Mix) -> Vec<(u32, u32)> {
        let mut bags: Vec<u32> =
            mix.bags.iter().flat_map(|(bag, count)| vec![*bag; *count]).collect();
        self.shuffle(&mut bags);
        let mut frames = Vec::new();
        for (least, largest, count) in mix.frames {
            let width = usize::try_from(largest - least + 1).expect("small");
            for _ in 0..count {
                frames.push(least + u32::try_from(self.below(width)).expect("small"));
            }
        }
        self.shuffle(&mut frames);
        bags.into_iter().zip(frames).collect()
    }

    /// `count` different ones of `names`, never `source`, in the order of `names`.
    fn targets(&mut self, names: &[String], source: usize, count: usize) -> String {
        let mut others: Vec<usize> = (0..names.len()).filter(|i| *i != source).collect();
        self.shuffle(&mut others);
        others.truncate(count);
        others.sort_unstable();
        others.iter().map(|i| names[*i].as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// The table of one switch with 19 ports and 649 virtual links.
pub fn a380_switch() -> String {
    let names: Vec<String> = (1..=19).map(|i| format!("es{i:02}")).collect();
    let mut draw = Draw(380);
    let mut out = String::from(
        "# Drawn by the example make_vl_tables after published distributions; not a real aircraft.\n\
         vl,name,source,targets,bag_ms,frame_bytes_max\n",
    );
    for (index, (bag, frame)) in draw.contracts(&A380).into_iter().enumerate() {
        let source = index % names.len();
        // Most have few targets, some nearly all: 18 others can be reached from a port.
        let fan_out = match draw.below(100) {
            0..40 => 1,
            40..60 => 2,
            60..72 => 3,
            72..80 => 4,
            80..92 => 5 + draw.below(4),
            _ => 9 + draw.below(10),
        };
        let targets = draw.targets(&names, source, fan_out);
        let vl = 1_001 + index;
        writeln!(out, "{vl},vl-{vl},{},{targets},{bag},{frame}", names[source])
            .expect("writing to a string");
    }
    out
}

/// The table of a small aircraft network with two redundant halves.
pub fn avionics() -> String {
    let names: Vec<String> = END_SYSTEMS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut draw = Draw(60);
    let mut out = String::from(
        "# Drawn by the example make_vl_tables after published distributions; not a real aircraft.\n\
         vl,name,source,targets,bag_ms,frame_bytes_max,jitter_us\n",
    );
    for (index, (bag, frame)) in draw.contracts(&SIXTY).into_iter().enumerate() {
        let (source, topics) = END_SYSTEMS[index % names.len()];
        let topic = topics[index / names.len()];
        let fan_out = [1, 1, 1, 2, 2, 3, 4][draw.below(7)];
        let targets = draw.targets(&names, index % names.len(), fan_out);
        let vl = 1_001 + index;
        writeln!(out, "{vl},{source}-{topic},{source},{targets},{bag},{frame},40")
            .expect("writing to a string");
    }
    out
}
