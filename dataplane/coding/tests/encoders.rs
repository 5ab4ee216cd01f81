//! Every encoder in any split of input and output: what a decoder makes of it is what went in.

use std::{io::Read, time::Duration};

use proptest::prelude::*;
use weir_coding::{Coding, PATIENCE, Pool, Pooled, Until};

fn decode(coding: Coding, coded: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    match coding {
        Coding::Gzip => {
            let mut out = vec![0; 4 << 20];
            let config = zlib_rs::InflateConfig { window_bits: 15 + 16 };
            let (decoded, code) = zlib_rs::decompress_slice(&mut out, coded, config);
            assert_eq!(code, zlib_rs::ReturnCode::Ok);
            content.extend_from_slice(decoded);
        }
        Coding::Brotli => {
            _ = brotli::Decompressor::new(coded, 4096).read_to_end(&mut content).expect("a sound encoder")
        }
        Coding::Zstd => {
            content = vec![0; 4 << 20];
            let bytes = zstd_safe::decompress(&mut content[..], coded).expect("a sound encoder");
            content.truncate(bytes);
        }
    }
    content
}

/// Feeds pieces; `room` is that of each buffer of the output. `loses`: when its output is flushed for the first time, the
/// encoder loses its memory to others.
fn encode(pool: &Pool, (coding, level): (Coding, u8), pieces: &[(Vec<u8>, bool)], room: usize, loses: bool) -> Vec<u8> {
    encode_of_length(pool, (coding, level), None, pieces, room, loses)
}

/// The same; `length` is what the encoder hears of the length.
fn encode_of_length(
    pool: &Pool,
    (coding, level): (Coding, u8),
    length: Option<u64>,
    pieces: &[(Vec<u8>, bool)],
    room: usize,
    loses: bool,
) -> Vec<u8> {
    let mut encoder = pool.take(coding, level, length, Duration::ZERO).expect("a sound encoder");
    let (mut coded, mut buffer) = (Vec::new(), vec![0; room]);
    let mut lost = !loses;
    let mut put = |mut piece: &[u8], until| {
        loop {
            let step = encoder.step(piece, &mut buffer, until).expect("a sound encoder");
            assert!(step.is_done || step.read + step.written > 0, "no progress");
            coded.extend_from_slice(&buffer[..step.written]);
            piece = &piece[step.read..];
            if step.is_done {
                assert!(piece.is_empty());
                break;
            }
        }
        if until == Until::Flush && !std::mem::replace(&mut lost, true) {
            lose(pool, &mut encoder);
        }
    };
    for (piece, flushes) in pieces {
        put(piece, Until::More);
        if *flushes {
            put(&[], Until::Flush);
        }
    }
    put(&[], Until::End);
    coded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn decoders_read_what_encoders_write(
        seed in 0_u8..4,
        level in 1_u8..=9,
        room in 64_usize..20_000,
        loses in any::<bool>(),
        lengths in prop::collection::vec((0_usize..40_000, any::<bool>()), 0..6),
    ) {
        let pool = Pool::default();
        for coding in Coding::ALL {
            // The second time the encoder has served another response.
            for _ in 0..2 {
                let byte = |at| (at % 251 * at / 100 * usize::from(seed)) as u8;
                let piece = |(length, flushes): &(usize, bool)| ((0..*length).map(byte).collect(), *flushes);
                let pieces: Vec<(Vec<u8>, bool)> = lengths.iter().map(piece).collect();
                let coded = encode(&pool, (coding, level), &pieces, room, loses);
                let content: Vec<u8> = pieces.iter().flat_map(|(piece, _)| piece.iter().copied()).collect();
                prop_assert!(decode(coding, &coded) == content, "{coding:?}");
                let length = Some(content.len() as u64);
                let coded = encode_of_length(&pool, (coding, level), length, &pieces, room, false);
                prop_assert!(decode(coding, &coded) == content, "{coding:?} of known length");
            }
        }
    }
}

#[test]
fn what_was_flushed_can_be_decoded_so_far() {
    let pool = Pool::default();
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        let mut encoder = pool.take(coding, 1, None, Duration::ZERO).expect("a sound encoder");
        let mut buffer = vec![0; 1024];
        let step = encoder.step(b"hello, hello, hello", &mut buffer, Until::Flush).expect("a sound encoder");
        assert!(step.is_done && step.read == 19 && step.written > 0, "{coding:?} {step:?}");
        let again = encoder.step(b"", &mut buffer, Until::Flush).expect("a sound encoder");
        assert!(again.is_done, "{coding:?} {again:?}");
    }
}

#[test]
fn encoder_loses_its_memory_before_it_has_begun() {
    for coding in Coding::ALL {
        let pool = Pool::default();
        let mut first = pool.take(coding, 1, None, Duration::ZERO).expect("an encoder");
        lose(&pool, &mut first);
        // In pieces of odd lengths, and longer than a block.
        let content: Vec<u8> = (0..150_000_u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect();
        let (mut coded, mut left, mut room) = (Vec::new(), &content[..], vec![0; 777]);
        loop {
            let step = first.step(left, &mut room, Until::End).expect("a sound encoder");
            coded.extend_from_slice(&room[..step.written]);
            left = &left[step.read..];
            if step.is_done {
                break;
            }
        }
        assert!(coded.len() > content.len() && decode(coding, &coded) == content, "{coding:?}");
    }
}

/// Has an encoder that rests lose its memory to others.
fn lose(pool: &Pool, encoder: &mut Pooled) {
    encoder.rest(Duration::ZERO);
    let others: Vec<_> = std::iter::from_fn(|| pool.take(encoder.coding(), 1, None, PATIENCE)).collect();
    assert!(pool.take(encoder.coding(), 1, None, PATIENCE).is_none() && !others.is_empty());
}

/// What comes of it in buffers of this room, of which the first may have less.
fn step_to_end(encoder: &mut Pooled, mut piece: &[u8], until: Until, first_room: usize, room: usize) -> Vec<u8> {
    let (mut coded, mut buffer) = (Vec::new(), vec![0; room]);
    let mut left = first_room;
    loop {
        let step = encoder.step(piece, &mut buffer[..left], until).expect("a sound encoder");
        assert!(step.is_done || left == 0 || step.read + step.written > 0, "no progress in {left} bytes of room");
        coded.extend_from_slice(&buffer[..step.written]);
        piece = &piece[step.read..];
        if step.is_done {
            assert!(piece.is_empty());
            return coded;
        }
        left = room;
    }
}

/// A buffer that was not sent between two pieces had less room than the head of a block needs: the response was cut.
#[test]
fn content_without_an_encoder_goes_on_in_any_room() {
    for coding in Coding::ALL {
        for (begun, first_room) in [true, false].into_iter().flat_map(|begun| (0..=16).map(move |room| (begun, room))) {
            for room in [first_room.max(1), 1000, 100_000] {
                let pool = Pool::default();
                let mut encoder = pool.take(coding, 1, None, Duration::ZERO).expect("an encoder");
                let (mut coded, mut content) = (Vec::new(), Vec::new());
                if begun {
                    content.extend_from_slice(b"begun");
                    coded = step_to_end(&mut encoder, b"begun", Until::Flush, 1000, 1000);
                }
                lose(&pool, &mut encoder);
                for length in [1, 2, 0, 5, 30, 70_000, 3] {
                    let piece: Vec<u8> = (0..length).map(|at: u32| (at.wrapping_mul(at) / 7) as u8).collect();
                    coded.extend(step_to_end(&mut encoder, &piece, Until::More, first_room, room));
                    coded.extend(step_to_end(&mut encoder, b"", Until::Flush, first_room, room));
                    content.extend(piece);
                }
                coded.extend(step_to_end(&mut encoder, b"", Until::End, first_room, room));
                assert!(decode(coding, &coded) == content, "{coding:?} in {first_room} bytes, then {room}");
            }
        }
    }
}

#[test]
fn encoder_that_was_given_nothing_loses_its_memory_and_the_body_still_has_its_head() {
    for (coding, until) in Coding::ALL.into_iter().flat_map(|coding| [(coding, Until::More), (coding, Until::Flush)]) {
        let pool = Pool::default();
        let mut encoder = pool.take(coding, 1, None, Duration::ZERO).expect("an encoder");
        let mut coded = step_to_end(&mut encoder, b"", until, 1000, 1000);
        lose(&pool, &mut encoder);
        coded.extend(step_to_end(&mut encoder, b"content", Until::End, 1000, 1000));
        assert!(decode(coding, &coded) == b"content", "{coding:?} {until:?}");
    }
}

/// One seed in a thousand of the simulation: a stream was left at level 1, and the next began within its block.
#[test]
fn stream_that_was_left_leaves_no_trace_in_the_next() {
    let pool = Pool::default();
    for coding in Coding::ALL {
        for level in 1..=9 {
            for _ in 0..3 {
                let mut left = pool.take(coding, level, None, Duration::ZERO).expect("an encoder");
                let mut buffer = vec![0; 64];
                left.step(&[7; 3000], &mut buffer, Until::More).expect("a sound encoder");
                drop(left);
                let content = vec![(vec![b'a'; 100], false), (b"other".to_vec(), true)];
                let coded = encode(&pool, (coding, level), &content, 1000, false);
                assert_eq!(decode(coding, &coded), [vec![b'a'; 100], b"other".to_vec()].concat());
            }
        }
    }
}

#[test]
fn short_content_of_known_length_waits_for_its_end_and_gets_shorter() {
    let pool = Pool::default();
    let content: Vec<u8> =
        b"the quick brown fox jumps over the lazy dog. ".iter().cycle().take(60_000).copied().collect();
    let mut room = vec![0; 100_000];
    let mut whole = pool.take(Coding::Gzip, 1, Some(60_000), Duration::ZERO).expect("an encoder");
    let first = whole.step(&content[..40_000], &mut room, Until::Flush).expect("a sound encoder");
    assert_eq!((first.read, first.written, first.is_done), (40_000, 0, true));
    let last = whole.step(&content[40_000..], &mut room, Until::End).expect("a sound encoder");
    assert!(last.is_done && last.written < 1000 && decode(Coding::Gzip, &room[..last.written]) == content);
    assert!(whole.step(b"more", &mut room, Until::End).is_err(), "more than was announced");
}

/// Slow servers keep encoders waiting: others still have theirs.
#[test]
fn content_that_waits_for_its_end_takes_half_of_the_memory_at_most() {
    let pool = Pool::default();
    let mut room = vec![0; 10_000];
    let whole = |pooled: &mut Pooled, room: &mut [u8]| {
        pooled.step(b"content", room, Until::Flush).expect("a sound encoder").written == 0
    };
    let mut waiting = Vec::new();
    loop {
        let mut next = pool.take(Coding::Gzip, 1, Some(64 << 10), Duration::ZERO).expect("an encoder");
        if !whole(&mut next, &mut room) {
            break;
        }
        waiting.push(next);
    }
    assert!((100..=124).contains(&waiting.len()), "{}", waiting.len());
    drop(waiting);
    assert!(whole(&mut pool.take(Coding::Gzip, 1, Some(10), Duration::ZERO).expect("an encoder"), &mut room));
    let mut long = pool.take(Coding::Gzip, 1, Some((64 << 10) + 1), Duration::ZERO).expect("an encoder");
    assert!(!whole(&mut long, &mut room), "it is encoded piece by piece");
}

#[test]
fn idle_encoders_make_room_for_content_that_waits_for_its_end() {
    let pool = Pool::default();
    let all: Vec<_> = std::iter::from_fn(|| pool.take(Coding::Gzip, 1, None, Duration::ZERO)).collect();
    drop(all);
    let mut whole = pool.take(Coding::Gzip, 5, Some(64 << 10), Duration::ZERO).expect("an encoder");
    let step = whole.step(b"content", &mut [0; 100], Until::Flush).expect("a sound encoder");
    assert_eq!(step.written, 0, "it waits");
}
