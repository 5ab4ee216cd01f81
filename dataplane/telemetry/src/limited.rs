//! Which limits refuse requests and connections: whose rate it is that they exceed.

macro_rules! limits {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// Whose rate a request or a connection exceeds that is refused for it. The names are in Samples.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Limited {
            $($(#[$doc])* $variant,)+
        }

        impl Limited {
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

limits! {
    /// All requests together have the rate.
    Requests = "requests",
    ClientRequests = "client_requests",
    PathRequests = "path_requests",
    ClientPathRequests = "client_path_requests",
    /// Each value of a header field or a cookie has it.
    FieldRequests = "field_requests",
    /// Requests that fail are counted.
    ClientFailures = "client_failures",
    PathFailures = "path_failures",
    ClientPathFailures = "client_path_failures",
    /// Requests of clients, or for paths, that are not known, or known to be bad.
    UnknownClients = "unknown_clients",
    BadClients = "bad_clients",
    UnknownPaths = "unknown_paths",
    BadPaths = "bad_paths",
    /// A DataScript says what is counted.
    ScriptRequests = "script_requests",
    /// All connections together have the rate.
    Connections = "connections",
    ClientConnections = "client_connections",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_limit_has_a_name_of_its_own_and_the_number_of_its_place() {
        let names: HashSet<_> = Limited::ALL.iter().map(|limited| limited.name()).collect();
        assert_eq!(names.len(), Limited::ALL.len());
        assert!(Limited::ALL.into_iter().enumerate().all(|(number, limited)| limited as usize == number));
    }
}
