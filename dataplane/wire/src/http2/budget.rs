//! What a peer may do that costs more than it brings: resets, control frames, empty frames. A number for the life of a
//! connection would end long and honest ones, so the budget grows again with time and with useful work.

use super::Code;

/// What comes back each second.
const REFILL_PER_S: u64 = 33;

#[derive(Clone, Debug)]
pub struct Budget {
    /// `None`: without limit.
    most: Option<u32>,
    left: u32,
    /// When the last units came back.
    filled_at_ms: u64,
}

impl Budget {
    /// `most`: the units that may be spent at once; 0: without limit.
    pub fn new(most: u32, now_ms: u64) -> Self {
        Self { most: (most > 0).then_some(most), left: most, filled_at_ms: now_ms }
    }

    /// Spends units. Error: there are not enough.
    pub fn spend(&mut self, units: u32, now_ms: u64) -> Result<(), Code> {
        let Some(most) = self.most else { return Ok(()) };
        let come_back = now_ms.saturating_sub(self.filled_at_ms).saturating_mul(REFILL_PER_S) / 1000;
        if come_back > 0 {
            self.left = u64::from(self.left).saturating_add(come_back).min(most.into()) as u32;
            self.filled_at_ms = now_ms;
        }
        self.left = self.left.checked_sub(units).ok_or(Code::EnhanceYourCalm)?;
        Ok(())
    }

    /// One unit comes back for useful work.
    pub fn earn(&mut self) {
        if let Some(most) = self.most {
            self.left = (self.left + 1).min(most);
        }
    }

    /// Whether three quarters are spent: time to end the connection gracefully.
    pub fn is_low(&self) -> bool {
        self.most.is_some_and(|most| self.left < most / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_again_with_time_and_with_work() {
        let mut budget = Budget::new(8, 0);
        assert_eq!((budget.spend(6, 0), budget.is_low()), (Ok(()), false));
        assert_eq!((budget.spend(1, 0), budget.is_low()), (Ok(()), true));
        assert_eq!(budget.spend(2, 30), Err(Code::EnhanceYourCalm), "not a unit in 30 ms");
        assert_eq!(budget.spend(2, 31), Ok(()));
        assert_eq!(budget.spend(1, 31), Err(Code::EnhanceYourCalm));
        budget.earn();
        assert_eq!(budget.spend(1, 31), Ok(()));
        assert_eq!(budget.spend(8, 60_000), Ok(()));
        assert_eq!(budget.spend(1, 60_000), Err(Code::EnhanceYourCalm), "never more than the most");
    }

    #[test]
    fn zero_stands_for_no_limit() {
        let mut budget = Budget::new(0, 0);
        assert_eq!((budget.spend(u32::MAX, 0), budget.is_low()), (Ok(()), false));
    }

    #[test]
    fn frequent_looks_lose_no_time() {
        let mut budget = Budget::new(100, 0);
        assert_eq!(budget.spend(100, 0), Ok(()));
        let spent = (1..=10_000).filter(|&now_ms| budget.spend(1, now_ms).is_ok()).count();
        assert!((320..=330).contains(&spent), "{spent} in ten seconds");
    }
}
