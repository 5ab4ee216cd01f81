//! `weir-sim --seed N [--count M] [--verbose]`: runs seeds, prints what happens in one, and exits with status 1 at the
//! first violation.
#![forbid(unsafe_code)]

use std::{panic::catch_unwind, process::ExitCode};

use weir_sim::{Tally, Verdict, run};

struct Options {
    seed: u64,
    count: u64,
    verbose: bool,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("weir-sim: {wrong}\nusage: weir-sim [--seed N] [--count N] [--verbose]");
            return ExitCode::from(2);
        }
    };
    let mut total = Tally::default();
    for seed in options.seed..options.seed.saturating_add(options.count) {
        let Ok(verdict) = catch_unwind(|| run(seed, options.verbose)) else {
            return failed(seed, "the panic above");
        };
        total.add(&verdict.tally);
        if options.verbose {
            tell(&verdict);
        }
        if !verdict.violations.is_empty() {
            return failed(seed, &verdict.violations.join("\n  "));
        }
    }
    println!("every promise held, {} from seed {} on: {total:?}", plural(options.count), options.seed);
    ExitCode::SUCCESS
}

fn failed(seed: u64, why: &str) -> ExitCode {
    eprintln!("seed {seed} fails:\n  {why}\nits story: make sim SEED={seed}");
    ExitCode::FAILURE
}

fn plural(seeds: u64) -> String {
    if seeds == 1 { "1 run".into() } else { format!("{seeds} runs") }
}

fn tell(verdict: &Verdict) {
    let weather = if verdict.calm { "calm" } else { "stormy" };
    println!("seed {}, {weather}", verdict.seed);
    verdict.story.iter().for_each(|line| println!("{line}"));
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { seed: 1, count: 1, verbose: false };
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or(format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("{word} needs a number, not {value:?}"))
        };
        match word.as_str() {
            "--seed" => options.seed = number()?,
            "--count" => options.count = number()?,
            "--verbose" => options.verbose = true,
            _ => return Err(format!("no such option: {word}")),
        }
    }
    Ok(options)
}
