//! What an engine does with a hot key, for the tests of the controller: controller/shares plays the same on its model of an
//! engine. `WEIR_GEN=write cargo test -p weir-rate` writes the transcript.

use std::{env, fmt::Write, fs, path::Path};

use weir_rate::{Engines, Limit, Moment, Share, Tallies, WHOLE};

const MS: u64 = 1_000_000;
const ENGINES: u32 = 8;
const STEPS: u32 = 1_500;

/// Of a limit of 100 in 60 s: what is asked, reported and heard, with the time in milliseconds.
fn transcript() -> String {
    let limit = Limit::new("", "limit", 100, 60, 0);
    let tallies = Tallies::new(1);
    let tally = tallies.of("service", Engines { count: ENGINES, seed: 5 }, [limit]);
    let key = tally.key(&limit).text(b"key");
    let mut seed = 1_u64;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32 % below
    };
    let (mut text, mut known, mut ms) = (String::new(), None, 1_000_000);
    let mut say = |ms: u64, what: &str| writeln!(text, "{ms} {what}").expect("a string takes everything");
    for _ in 0..STEPS {
        ms += u64::from(random(150));
        let now = ms * MS;
        match (random(10), known) {
            (0..3, _) => {
                let demands = tallies.demands(now, 512);
                let Some(demand) = demands.first().map(|each| each.keys[0]) else {
                    say(ms, "reports nothing");
                    continue;
                };
                known = Some((demands[0].limit, demand.tag));
                say(ms, &format!("reports {} asked {} used", demand.asked, demand.used));
            }
            (3, Some((id, tag))) => {
                let share = WHOLE / (1 + random(8 * ENGINES));
                let shift = random(WHOLE / 2) as i32 - WHOLE as i32 * 2 / 5;
                tallies.hear("service", id, [Share { tag, share, shift }], now);
                say(ms, &format!("hears {share} share {shift} shift"));
            }
            _ => {
                let passes = tally.admit(&limit, &key, Moment::counting(now)).is_ok();
                say(ms, if passes { "asked passes" } else { "asked refused" });
            }
        }
    }
    text
}

#[test]
fn model_of_the_controller_plays_what_engines_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../controller/shares/testdata/engine.txt");
    let is = transcript();
    if env::var("WEIR_GEN").is_ok_and(|how| how == "write") {
        fs::write(&path, &is).expect("it can be written");
    }
    assert!(fs::read_to_string(&path).is_ok_and(|was| was == is), "engines do something else now: WEIR_GEN=write");
}
