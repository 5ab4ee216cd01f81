//! How many requests a server takes at once before its answers become slow. It is found out as TCP finds its window (RFC
//! 5681 §3.1): one more for each answer in time until answers were slow once, then one more for as many as fit. Slow
//! answers make it fewer.

/// Room that a server has before its first answer, and when that has come, at least.
const ROOM_FIRST: u32 = 10;
/// Answers that make a mean.
const ANSWERS_MIN: u32 = 10;
/// The mean is that of about so many answers.
const ANSWERS_MAX: u32 = 16;
/// The lowest mean is believed for about this long: a server may become slower for good.
const LOW_SPAN_NS: u64 = 600_000_000_000;
/// Slow is what takes longer than the server's own lowest mean by this factor, if the operator names no time.
const SLOW_FACTOR: f64 = 2.0;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Fill {
    /// `None`: it has not answered yet.
    room: Option<u32>,
    /// Its answers were slow once.
    was_slow: bool,
    /// The mean of the answers since the room shrank last, which was then.
    time_ns: f64,
    answers: u32,
    cut_at_ns: u64,
    /// Answers in time since room for one more was made.
    in_time: u32,
    low_ns: Option<f64>,
    at_ns: u64,
}

impl Fill {
    pub fn has_room(&self, requests: u32) -> bool {
        requests < self.room.unwrap_or(ROOM_FIRST)
    }

    /// Nobody measures its answers.
    pub fn is_not_measured(&mut self) {
        self.room.get_or_insert(u32::MAX);
    }

    /// The server has answered, while it had so many requests. `slow_ns`: what is slow; 0: its own times say it.
    pub fn answered(&mut self, time_ns: u64, requests: u32, slow_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(time_ns) < self.cut_at_ns {
            return; // The request was under way when the room shrank.
        }
        self.answers = (self.answers + 1).min(ANSWERS_MAX);
        self.time_ns += (time_ns as f64 - self.time_ns) / f64::from(self.answers);
        let room = *self.room.get_or_insert(requests.max(ROOM_FIRST));
        let low = self.low(now_ns);
        let slow = if slow_ns > 0 { slow_ns as f64 } else { low * SLOW_FACTOR };
        if self.time_ns > slow {
            self.in_time = 0;
            if self.answers >= ANSWERS_MIN {
                let kept = (slow / self.time_ns).clamp(0.5, 0.875);
                self.room = Some(((f64::from(room.min(requests)) * kept) as u32).max(1));
                (self.was_slow, self.time_ns, self.answers, self.cut_at_ns) = (true, 0.0, 0, now_ns);
            }
        } else if requests >= room {
            self.in_time += 1;
            if !self.was_slow || self.in_time >= room {
                (self.room, self.in_time) = (Some(room.saturating_add(1)), 0);
            }
        }
    }

    /// The lowest mean lately.
    fn low(&mut self, now_ns: u64) -> f64 {
        let mean = self.time_ns;
        let low = match self.low_ns {
            Some(low) if self.answers < ANSWERS_MIN => return low,
            Some(low) if low < mean => {
                let age = now_ns.saturating_sub(self.at_ns) as f64;
                low + (mean - low) * age / (LOW_SPAN_NS as f64 + age)
            }
            _ => mean,
        };
        (self.low_ns, self.at_ns) = (Some(low), now_ns);
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A server whose answers take 10 ms up to 20 requests at once, and 10 ms more for each request beyond.
    fn time_ns(requests: u32) -> u64 {
        (10 + 10 * u64::from(requests.saturating_sub(20))) * MS
    }

    #[test]
    fn room_is_found_where_answers_become_slow() {
        for slow_ns in [0, 50 * MS] {
            let (mut fill, mut now_ns) = (Fill::default(), 1_000 * MS);
            assert!(fill.has_room(9) && !fill.has_room(10), "nothing is known");
            (0..100).for_each(|at| fill.answered(time_ns(5), 5, slow_ns, at * MS));
            let mut held = 0.0;
            for round in 0..60_000u32 {
                now_ns += MS;
                let requests = (0..200).take_while(|requests| fill.has_room(*requests)).count() as u32;
                fill.answered(time_ns(requests), requests, slow_ns, now_ns);
                if round >= 30_000 {
                    held += f64::from(requests) / 30_000.0;
                }
            }
            assert!((15.0..30.0).contains(&held), "{held}");
        }
    }

    #[test]
    fn slow_server_keeps_room_for_one() {
        let mut fill = Fill::default();
        (0..100).for_each(|at| fill.answered(1_000 * MS, 1, 100 * MS, at * 3_000 * MS));
        assert!(fill.has_room(0) && !fill.has_room(1));
    }
}
