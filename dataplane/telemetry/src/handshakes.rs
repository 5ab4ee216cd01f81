//! The TLS handshakes with clients of a service: what they agreed on, and why others failed.

/// What a handshake has agreed on, by IANA's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// "TLS 1.3"
    pub version: &'static str,
    pub cipher_suite: &'static str,
    /// Of the key exchange. `None`: there was none, so that the session is no more secret than its ticket.
    pub group: Option<&'static str>,
    /// What the key of the certificate signs with. `None`: a resumed session needs no certificate.
    pub key: Option<&'static str>,
    pub resumed: bool,
}

/// The rows that a service can have. What agrees on anything else is counted together.
pub const AGREED_MAX: usize = 31;

/// Cumulative.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Handshakes {
    agreed: Vec<(Agreed, u64)>,
    others: u64,
    /// Of all, whether or not they have a row.
    tls13: u64,
    resumed: u64,
    faults: [u64; HandshakeFault::ALL.len()],
}

impl Handshakes {
    pub(crate) fn count(&mut self, agreed: Agreed) {
        self.tls13 += u64::from(agreed.version == "TLS 1.3");
        self.resumed += u64::from(agreed.resumed);
        match self.agreed.iter().position(|(row, _)| *row == agreed) {
            Some(at) => self.agreed[at].1 += 1,
            None if self.agreed.len() < AGREED_MAX => self.agreed.push((agreed, 1)),
            None => self.others += 1,
        }
    }

    pub(crate) fn fail(&mut self, fault: HandshakeFault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn copy(&mut self, other: &Self) {
        self.agreed.clone_from(&other.agreed);
        (self.others, self.tls13, self.resumed) = (other.others, other.tls13, other.resumed);
        self.faults = other.faults;
    }

    /// May leave more than [`AGREED_MAX`] rows: each worker has its own.
    pub(crate) fn add(&mut self, other: &Self) {
        for (agreed, total) in &other.agreed {
            match self.agreed.iter().position(|(row, _)| row == agreed) {
                Some(at) => self.agreed[at].1 += total,
                None => self.agreed.push((*agreed, *total)),
            }
        }
        self.others += other.others;
        self.tls13 += other.tls13;
        self.resumed += other.resumed;
        for (mine, theirs) in self.faults.iter_mut().zip(&other.faults) {
            *mine += theirs;
        }
    }

    /// In the order in which they first occurred.
    pub fn agreed(&self) -> &[(Agreed, u64)] {
        &self.agreed
    }

    /// How many handshakes have no row.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// How many were of TLS 1.3.
    pub fn tls13(&self) -> u64 {
        self.tls13
    }

    /// How many resumed a session.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    pub fn faults(&self) -> impl Iterator<Item = (HandshakeFault, u64)> + '_ {
        HandshakeFault::ALL.into_iter().zip(self.faults).filter(|(_, total)| *total > 0)
    }
}

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// Why a handshake with a client failed. Its names are in metrics.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum HandshakeFault {
            $($(#[$doc])* $variant,)+
        }

        impl HandshakeFault {
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

faults! {
    /// The client ended or reset the connection.
    Closed = "closed",
    Timeout = "timeout",
    /// What came is not TLS.
    NotTls = "not_tls",
    /// Client and service have no version of TLS in common,
    NoVersion = "no_version",
    NoCipherSuite = "no_cipher_suite",
    /// no group of the key exchange,
    NoGroup = "no_group",
    /// no algorithm of signatures for the key of the certificate,
    NoSignature = "no_signature",
    /// no protocol above TLS (ALPN).
    NoProtocol = "no_protocol",
    /// The client shows no certificate, and needs one,
    NoCertificate = "no_certificate",
    /// or one that is not good.
    BadCertificate = "bad_certificate",
    /// The client refuses the certificate.
    CertificateRefused = "certificate_refused",
    /// The client gave up for another reason, and said so.
    Alert = "alert",
    /// What came is not as TLS must be.
    Malformed = "malformed",
    /// The listener was removed, or changed, meanwhile.
    Unserved = "unserved",
    /// The engine needed the place for others.
    Evicted = "evicted",
    /// A defect of ours.
    Internal = "internal",
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(number: usize) -> Agreed {
        let names: &'static str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let cipher_suite = &names[number..=number];
        Agreed { version: "TLS 1.3", cipher_suite, group: Some("X25519"), key: Some("RSA"), resumed: false }
    }

    #[test]
    fn each_agreement_has_a_row_and_what_exceeds_the_rows_is_counted_together() {
        let mut handshakes = Handshakes::default();
        for number in (0..AGREED_MAX + 4).chain([0, 0, AGREED_MAX]) {
            handshakes.count(agreed(number));
        }
        assert_eq!((handshakes.agreed().len(), handshakes.others()), (AGREED_MAX, 5));
        assert_eq!([0, 1].map(|at| handshakes.agreed()[at]), [(agreed(0), 3), (agreed(1), 1)]);
        handshakes.count(Agreed { resumed: true, ..agreed(AGREED_MAX) });
        assert_eq!((handshakes.tls13(), handshakes.resumed()), (AGREED_MAX as u64 + 8, 1));
    }

    #[test]
    fn resumed_handshake_has_another_row_than_a_full_one() {
        let mut handshakes = Handshakes::default();
        let full = agreed(0);
        [full, Agreed { resumed: true, key: None, ..full }, Agreed { group: None, ..full }, full]
            .into_iter()
            .for_each(|one| handshakes.count(one));
        let totals: Vec<_> = handshakes.agreed().iter().map(|(_, total)| *total).collect();
        assert_eq!(totals, [2, 1, 1]);
    }

    #[test]
    fn workers_add_up() {
        let of = |numbers: &[usize], fault| {
            let mut handshakes = Handshakes::default();
            numbers.iter().for_each(|number| handshakes.count(agreed(*number)));
            handshakes.fail(fault);
            handshakes
        };
        let mut sum = of(&[0, 1], HandshakeFault::Timeout);
        sum.add(&of(&[1, 2], HandshakeFault::Timeout));
        sum.add(&of(&[], HandshakeFault::Alert));
        assert_eq!(sum.agreed(), [(agreed(0), 1), (agreed(1), 2), (agreed(2), 1)]);
        assert_eq!((sum.tls13(), sum.resumed()), (4, 0));
        let faults: Vec<_> = sum.faults().collect();
        assert_eq!(faults, [(HandshakeFault::Timeout, 2), (HandshakeFault::Alert, 1)]);
    }
}
