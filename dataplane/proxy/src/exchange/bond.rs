//! What persistence comes to for a request.

use weir_balance::Standing;
use weir_policy::Binding;
use weir_telemetry::record::Flags;

/// Whether a request goes to the server that its client is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Bond {
    /// It does, or names no server.
    #[default]
    Kept,
    /// Its cookie gets replaced.
    Undated,
    Expired,
    ServerDown,
    ServerDisabled,
    /// The server is full or suspect, or was tried in vain.
    ServerBusy,
    /// A rule has chosen the server.
    Ruled,
}

impl Bond {
    pub fn of(binding: Binding) -> Self {
        match binding {
            Binding::None | Binding::To(_) => Self::Kept,
            Binding::Undated(_) => Self::Undated,
            Binding::Expired => Self::Expired,
        }
    }

    /// The server that the request names does not get it, because of how it stands.
    #[cold]
    pub fn lost(self, standing: Standing) -> Self {
        match (self, standing) {
            (Self::Ruled, _) => self,
            (_, Standing::Down) => Self::ServerDown,
            (_, Standing::Disabled) => Self::ServerDisabled,
            (_, Standing::Eligible | Standing::Full | Standing::Suspect | Standing::Ejected) => Self::ServerBusy,
        }
    }

    /// What a record says of it, if another server than that of the client has answered, or none has.
    pub fn flags(self, is_served: bool) -> Flags {
        let changed = if is_served { Flags::PERSISTENCE_CHANGED } else { Flags::default() };
        match self {
            Self::Kept | Self::Undated | Self::Ruled => Flags::default(),
            Self::Expired => Flags::PERSISTENCE_EXPIRED,
            Self::ServerDown => changed | Flags::PERSISTENCE_DOWN,
            Self::ServerDisabled => changed | Flags::PERSISTENCE_DISABLED,
            Self::ServerBusy => changed,
        }
    }
}
