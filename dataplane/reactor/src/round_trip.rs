//! The round trip to a peer, as the kernel has measured it.

use std::{net::TcpStream, time::Duration};

use crate::socket;

/// The places of `tcpi_rtt` and `tcpi_min_rtt` in `struct tcp_info` (linux/tcp.h), in words. Both are in microseconds.
const SMOOTHED: usize = 17;
const LEAST: usize = 37;

/// If the smoothed round trip exceeds the least by this factor, peers have acknowledged late, or an early measurement
/// contains more than a round trip.
const DOUBTFUL: u32 = 4;

/// `None`: the kernel has not measured it.
pub fn to_peer(stream: &TcpStream) -> Option<Duration> {
    let words: [u32; LEAST + 1] = socket::tcp_info(stream).ok()?;
    micros(words[SMOOTHED], words[LEAST]).map(|micros| Duration::from_micros(micros.into()))
}

/// `least` is 0 on a kernel that does not tell it.
fn micros(smoothed: u32, least: u32) -> Option<u32> {
    let doubtful = least > 0 && smoothed / DOUBTFUL >= least;
    Some(if doubtful { least } else { smoothed }).filter(|micros| *micros > 0)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn least_counts_where_the_smoothed_one_is_doubtful() {
        let cases = [(0, 0), (0, u32::MAX), (700, 0), (700, u32::MAX), (399, 100), (400, 100), (40_000, 100)];
        let found = cases.map(|(smoothed, least)| micros(smoothed, least));
        assert_eq!(found, [None, None, Some(700), Some(700), Some(399), Some(100), Some(100)]);
    }

    #[test]
    fn round_trip_of_a_connection_on_this_machine_is_short() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        near.write_all(b"x").unwrap();
        far.read_exact(&mut [0]).unwrap();
        let took = to_peer(&near).expect("the kernel has measured it");
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}
