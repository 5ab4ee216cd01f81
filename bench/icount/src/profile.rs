//! What callgrind counted, read from its file (valgrind manual, "Callgrind Format Specification"), without compression.
//!
//! Cryptography is what Rust code calls in aws-lc, with all that lies below: it is the same whoever asks for it, and has
//! its own column, so that our own code beside it can be seen.

use std::collections::HashMap;

/// Symbols of aws-lc, whatever its version; what binds it to Rust, aws_lc_rs, begins so too.
const CRYPTOGRAPHY: &str = "aws_lc_";

/// The functions below which callgrind counts begin so.
const ROOT: &str = "::counted_";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Instructions of our own code and all that it calls, except cryptography.
    pub own: u64,
    /// Instructions.
    pub cryptography: u64,
    /// How often our own code asks the allocator for memory.
    pub allocations: u64,
}

impl Counted {
    /// Of one, if these are of so many. None allocates if there are no allocations.
    pub fn of_one(self, of: u64) -> Self {
        Self { own: self.own / of, cryptography: self.cryptography / of, allocations: self.allocations.div_ceil(of) }
    }
}

pub struct Profile {
    pub counted: Counted,
    /// What each function took by itself, inlined ones included.
    pub functions: HashMap<String, u64>,
}

impl Profile {
    /// `None` when this is no profile, or nothing in it was counted.
    pub fn read(text: &str) -> Option<Self> {
        let mut functions: HashMap<String, u64> = HashMap::new();
        let (mut caller, mut callee) = ("", "");
        let (mut cryptography, mut allocations) = (0, 0);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("fn="));
        while let Some(line) = lines.next() {
            match line.split_once('=') {
                Some(("fn", name)) => caller = name,
                Some(("cfn", name)) => callee = name,
                // The line behind a call has the cost of all that lies below it.
                Some(("calls", calls)) => {
                    let below = cost(lines.next()?)?;
                    if allocates(callee) && !is_allocator(caller) {
                        allocations += calls.split(' ').next()?.parse::<u64>().ok()?;
                    }
                    if is_rust(caller) && callee.starts_with(CRYPTOGRAPHY) && !is_rust(callee) {
                        cryptography += below;
                    }
                }
                Some(_) => {}
                None if line.starts_with(|first: char| first.is_ascii_digit()) => {
                    *functions.entry(caller.to_owned()).or_default() += cost(line)?;
                }
                None => {}
            }
        }
        functions.keys().find(|name| name.contains(ROOT))?;
        let own = functions.values().sum::<u64>().checked_sub(cryptography)?;
        Some(Self { counted: Counted { own, cryptography, allocations }, functions })
    }
}

/// mimalloc's.
fn is_allocator(function: &str) -> bool {
    function.trim_start_matches('_').starts_with("mi_")
}

/// `mi_malloc`, `mi_realloc_aligned` and their like.
fn allocates(function: &str) -> bool {
    is_allocator(function) && function.contains("alloc")
}

/// Only its names have paths.
fn is_rust(function: &str) -> bool {
    function.contains("::")
}

/// `<line of the source> <instructions>`.
fn cost(line: &str) -> Option<u64> {
    line.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
events: Ir
summary: 199

ob=/a/weir-icount
fl=a.rs
fn=icount::counted_batch
7 10
8 2
cfi=b.c
cfn=aws_lc_0_1_SIGN
calls=2 40
9 150
cfn=memcpy
calls=1 1
9 10
cfn=aws_lc_rs::free
calls=1 80
10 12

fl=b.c
fn=aws_lc_0_1_SIGN
40 30
cfn=multiply
calls=4 60
41 120

fn=multiply
60 100
cfn=aws_lc_0_1_ADD
calls=4 70
61 20

fn=icount::growing
11 4
cfn=mi_realloc
calls=3 12
11 9
cfn=mi_free
calls=2 13
11 2

fn=mi_realloc
12 5
cfn=_mi_malloc_generic
calls=3 14
12 4

fn=_mi_malloc_generic
14 4

fn=mi_free
13 2

fn=aws_lc_0_1_ADD
70 20

fn=aws_lc_rs::free
80 5
cfn=aws_lc_0_1_FREE
calls=1 90
81 7

fn=aws_lc_0_1_FREE
90 7

fn=memcpy
1 10

totals: 199
";

    #[test]
    fn what_lies_below_a_call_of_the_library_is_cryptography() {
        let profile = Profile::read(PROFILE).unwrap();
        assert_eq!(profile.counted, Counted { own: 42, cryptography: 157, allocations: 3 });
        assert_eq!(profile.functions["icount::counted_batch"], 12);
    }

    #[test]
    fn profile_of_anything_else_is_none() {
        assert!(Profile::read("").is_none());
        assert!(Profile::read(&PROFILE.replace("counted_batch", "main")).is_none());
        assert!(Profile::read(&PROFILE.replace("9 150", "150")).is_none());
    }
}
