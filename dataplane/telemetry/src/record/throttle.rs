//! How many records each virtual service may have of each class, and how many requests wait to be stood for.

use std::sync::Arc;

use super::Class;
use crate::id;

/// How often records of a class may come, on one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rate {
    /// Nanoseconds from one record to the next; 0: without limit.
    interval: u64,
    /// How much earlier than that a record may come after a pause: as many as of one second may come at once.
    slack: u64,
}

const SECOND: u64 = 1_000_000_000;

impl Rate {
    /// The share of one of `workers`, at least one a second. 0: without limit.
    pub fn of_engine(per_s: u32, workers: u32) -> Self {
        if per_s == 0 {
            return Self::default();
        }
        let share = u64::from(per_s / workers.max(1)).max(1);
        let interval = SECOND / share;
        Self { interval, slack: SECOND - interval }
    }
}

#[derive(Debug, Default)]
pub struct Throttle {
    /// By the index of the virtual service.
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// The virtual service, and its uuid, if one has the row.
    service: Option<(u32, Arc<str>)>,
    classes: [State; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// When the next record may come, without slack.
    next: u64,
    /// Those that no record stands for.
    waiting: u64,
    /// What of them was said last.
    said: u64,
}

/// Requests or connections that no record stands for yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The uuid of their virtual service.
    pub service: Arc<str>,
    pub class: Class,
    /// 0: none waits any more.
    pub count: u64,
}

impl Throttle {
    /// Gives a virtual service its row, if it has none. What waits of an earlier one with the same index goes into `left`.
    pub fn begin(&mut self, service: u32, uuid: &str, left: &mut Vec<Waiting>) {
        let at = id::index(service);
        if self.rows.len() <= at {
            self.rows.resize_with(at + 1, Row::default);
        }
        let row = &mut self.rows[at];
        if row.service.as_ref().is_none_or(|(id, _)| *id != service) {
            row.say(left);
            *row = Row { service: Some((service, uuid.into())), ..Row::default() };
        }
    }

    /// Whether there is a record now, at this time in nanoseconds: if the rate allows it, and if `has_room`. Returns how many
    /// it stands for: itself, and those that have waited. If not, it waits.
    ///
    /// If the row belongs to a later virtual service, there is one without a limit: few connections outlive their service for
    /// so long.
    #[inline]
    pub fn take(&mut self, service: u32, class: Class, rate: Rate, has_room: bool, now: u64) -> Option<u32> {
        let Some(state) = self.state(service, class) else { return has_room.then_some(1) };
        if !has_room || rate.interval > 0 && state.next > now + rate.slack {
            state.waiting += 1;
            return None;
        }
        if rate.interval > 0 {
            state.next = state.next.max(now) + rate.interval;
        }
        if state.waiting == 0 {
            return Some(1);
        }
        let weight = u32::try_from(state.waiting + 1).unwrap_or(u32::MAX);
        state.waiting -= u64::from(weight - 1);
        Some(weight)
    }

    /// There is no record, whatever the rate is.
    pub fn suppress(&mut self, service: u32, class: Class) {
        if let Some(state) = self.state(service, class) {
            state.waiting += 1;
        }
    }

    /// Whether [`say`](Self::say) has something new.
    pub fn has_news(&self) -> bool {
        self.rows.iter().any(|row| row.classes.iter().any(|state| state.waiting != state.said))
    }

    /// All that waits, and what waited when this was called last and does not any more.
    pub fn say(&mut self, into: &mut Vec<Waiting>) {
        self.rows.iter_mut().for_each(|row| row.say(into));
    }

    fn state(&mut self, service: u32, class: Class) -> Option<&mut State> {
        let row = self.rows.get_mut(id::index(service))?;
        let is_its = row.service.as_ref().is_some_and(|(id, _)| *id == service);
        is_its.then(|| &mut row.classes[class.index()])
    }
}

impl Row {
    fn say(&mut self, into: &mut Vec<Waiting>) {
        let Some((_, service)) = &self.service else { return };
        for (class, state) in Class::ALL.into_iter().zip(&mut self.classes) {
            if state.waiting > 0 || state.said > 0 {
                into.push(Waiting { service: service.clone(), class, count: state.waiting });
            }
            state.said = state.waiting;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = SECOND / 1000;

    fn throttle() -> Throttle {
        let mut throttle = Throttle::default();
        throttle.begin(3, "service", &mut Vec::new());
        throttle
    }

    fn said(throttle: &mut Throttle) -> Vec<(String, Class, u64)> {
        let mut all = Vec::new();
        throttle.say(&mut all);
        all.into_iter().map(|waiting| (waiting.service.to_string(), waiting.class, waiting.count)).collect()
    }

    /// How many of `count` requests at these times are recorded.
    fn admitted(throttle: &mut Throttle, rate: Rate, times: impl Iterator<Item = u64>) -> usize {
        times.filter(|now| throttle.take(3, Class::All, rate, true, *now).is_some()).count()
    }

    #[test]
    fn as_many_come_at_once_as_in_a_second_and_then_at_the_rate() {
        let (mut throttle, rate) = (throttle(), Rate::of_engine(40, 4));
        assert_eq!(admitted(&mut throttle, rate, [50 * SECOND; 100].into_iter()), 10);
        let two_seconds = (1..=2000).map(|ms| 50 * SECOND + ms * MS);
        assert_eq!(admitted(&mut throttle, rate, two_seconds), 20);
        assert_eq!(admitted(&mut throttle, rate, [90 * SECOND; 100].into_iter()), 10, "a pause saves no more");
    }

    #[test]
    fn each_worker_has_one_a_second_at_least_and_all_without_a_limit() {
        let (mut throttle, rate) = (throttle(), Rate::of_engine(3, 64));
        assert_eq!(admitted(&mut throttle, rate, [0; 100].into_iter()), 1);
        assert_eq!(admitted(&mut throttle, rate, [SECOND - 1, SECOND].into_iter()), 1);
        assert_eq!(admitted(&mut throttle, Rate::of_engine(0, 64), [0; 100].into_iter()), 100);
    }

    #[test]
    fn next_record_stands_for_those_that_wait() {
        let mut throttle = throttle();
        assert!(!throttle.has_news());
        (0..4).for_each(|_| throttle.suppress(3, Class::All));
        assert_eq!(throttle.take(3, Class::All, Rate::default(), false, 0), None);
        throttle.suppress(3, Class::Filtered);
        assert!(throttle.has_news());
        let waiting = |class, count| ("service".to_owned(), class, count);
        assert_eq!(said(&mut throttle), [waiting(Class::Filtered, 1), waiting(Class::All, 5)]);
        assert!(!throttle.has_news());
        assert_eq!(
            [3, 3].map(|service| throttle.take(service, Class::All, Rate::default(), true, 0)),
            [Some(6), Some(1)]
        );
        assert!(throttle.has_news());
        assert_eq!(said(&mut throttle), [waiting(Class::Filtered, 1), waiting(Class::All, 0)]);
        assert_eq!(said(&mut throttle), [waiting(Class::Filtered, 1)]);
    }

    #[test]
    fn successor_in_a_row_begins_anew_and_what_waited_is_said() {
        let mut throttle = throttle();
        throttle.suppress(3, Class::All);
        let mut left = Vec::new();
        throttle.begin(3, "service", &mut left);
        assert!(left.is_empty(), "it has its row already");
        throttle.begin(id::successor(3), "next", &mut left);
        assert_eq!(left, [Waiting { service: "service".into(), class: Class::All, count: 1 }]);
        assert_eq!(said(&mut throttle), []);
        throttle.suppress(3, Class::All);
        let taken = [true, false].map(|room| throttle.take(3, Class::All, Rate::of_engine(1, 1), room, 0));
        assert_eq!((taken, said(&mut throttle)), ([Some(1), None], vec![]), "it has no row any more");
    }
}
