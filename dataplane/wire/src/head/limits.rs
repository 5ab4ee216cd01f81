//! How large a head may be.

use super::MAX_FIELDS;

/// The largest head, whatever an operator allows.
pub const HEAD_BYTES_CEILING: usize = 256 * 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Start line, fields and the empty line.
    pub head_bytes: usize,
    /// One field line.
    pub field_bytes: usize,
    pub fields: usize,
}

impl Limits {
    /// 0 stands for the ceiling, and nothing exceeds it.
    pub fn new(head_bytes: usize, field_bytes: usize, fields: usize) -> Self {
        let bounded = |value, ceiling| if value == 0 || value > ceiling { ceiling } else { value };
        Self {
            head_bytes: bounded(head_bytes, HEAD_BYTES_CEILING),
            field_bytes: bounded(field_bytes, HEAD_BYTES_CEILING),
            fields: bounded(fields, MAX_FIELDS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_stands_for_the_ceiling() {
        let ceiling = Limits { head_bytes: HEAD_BYTES_CEILING, field_bytes: HEAD_BYTES_CEILING, fields: MAX_FIELDS };
        assert_eq!(Limits::new(0, 0, 0), ceiling);
        assert_eq!(Limits::new(usize::MAX, usize::MAX, usize::MAX), ceiling);
        assert_eq!(Limits::new(1, 2, 3), Limits { head_bytes: 1, field_bytes: 2, fields: 3 });
    }
}
