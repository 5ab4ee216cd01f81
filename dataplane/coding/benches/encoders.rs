//! What the encoders cost: MB/s of input and the ratio, by coding and level, of a large text; and the time of a page with
//! an encoder of the pool. Prints the best of many short runs. `cargo bench -p weir-coding`

use std::{hint::black_box, time::Instant};

use weir_coding::{Coding, Pool, Until};

const WORDS: &str = include_str!("../../../ARCHITECTURE.md");
const BLOCK: usize = 16 * 1024;
const LARGE: usize = 512 * 1024;
const PAGE: usize = 8704;

fn main() {
    let text: Vec<u8> = WORDS.bytes().cycle().take(LARGE).collect();
    let mixed: Vec<u8> = text.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at % 97 == at / 4096)).collect();
    for coding in Coding::ALL {
        for level in [1, 5, 9] {
            let (pool, mut out) = (Pool::default(), vec![0; BLOCK]);
            let coded = run(&pool, (coding, level), &mixed, None, &mut out);
            let large_ns = best(10, || run(&pool, (coding, level), &mixed, None, &mut out));
            let page = &mixed[..PAGE];
            let page_ns = best(200, || run(&pool, (coding, level), page, None, &mut out));
            let whole_ns = best(200, || run(&pool, (coding, level), page, Some(PAGE as u64), &mut out));
            println!(
                "{:>5} level {level}: {:>4.0} MB/s, ratio {:.2}; a page of {PAGE} bytes {:.1} us, of known length {:.1} us",
                coding.name(),
                LARGE as f64 * 1000.0 / large_ns,
                LARGE as f64 / coded as f64,
                page_ns / 1000.0,
                whole_ns / 1000.0,
            );
        }
    }
}

fn best(runs: usize, mut run: impl FnMut() -> usize) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        black_box(run());
        begun.elapsed().as_nanos() as f64
    };
    (0..runs).map(time).fold(f64::MAX, f64::min)
}

/// As the proxy does it: in blocks, with a flush behind every fourth. Returns the length of the output.
fn run(pool: &Pool, (coding, level): (Coding, u8), content: &[u8], length: Option<u64>, out: &mut [u8]) -> usize {
    let mut encoder = pool.take(coding, level, length, std::time::Duration::ZERO).expect("an encoder");
    let (blocks, mut coded) = (content.chunks(BLOCK), 0);
    let last = blocks.len() - 1;
    for (number, mut block) in blocks.enumerate() {
        let until = match number {
            _ if number == last => Until::End,
            _ if number % 4 == 3 => Until::Flush,
            _ => Until::More,
        };
        loop {
            let step = encoder.step(black_box(block), out, until).expect("a well encoder");
            (block, coded) = (&block[step.read..], coded + step.written);
            if step.is_done {
                break;
            }
        }
    }
    coded
}
