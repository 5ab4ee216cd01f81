//! What a client gets when no server can take its request.

use weir_api::dataplane::v1;
use weir_rules::{LocalResponse, Redirect};

use crate::{
    finding::{Findings, Subject},
    kept::reference,
    policies::rule::{check_redirect, check_response},
};

const FIELD: &str = "fail_action";
const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailAction {
    CloseConnection,
    /// A 503 page.
    LocalResponse,
    Answer(LocalResponse),
    Redirect(Redirect),
    /// The servers of the pool with this uuid take the request.
    Backup(String),
}

impl FailAction {
    /// `None`, with a finding, if it cannot be used.
    pub(crate) fn of_pool(source: &v1::Pool, pool: Subject<'_>, findings: &mut Findings) -> Option<Self> {
        match v1::FailAction::try_from(source.fail_action) {
            Ok(v1::FailAction::CloseConnection) => Some(Self::CloseConnection),
            Ok(v1::FailAction::LocalResponse) => Some(Self::LocalResponse),
            Ok(v1::FailAction::Answer) => match &source.fail_answer {
                Some(answer) => Self::read(answer, pool, findings),
                None => {
                    findings.error(pool, FIELD, "has no answer");
                    None
                }
            },
            Err(_) => {
                findings.error(pool, FIELD, UNKNOWN);
                None
            }
        }
    }

    /// The same of an answer.
    pub(crate) fn read(source: &v1::FailAnswer, of: Subject<'_>, findings: &mut Findings) -> Option<Self> {
        use v1::fail_answer::Answer;
        match &source.answer {
            Some(Answer::Close(_)) => Some(Self::CloseConnection),
            Some(Answer::Response(response)) => {
                check_response(of, "fail_action.local_rsp", response, findings).map(Self::Answer)
            }
            Some(Answer::Redirect(redirect)) => {
                let redirect = check_redirect(of, "fail_action.redirect", redirect, findings)?;
                if redirect.location_of(b"/").is_none() {
                    findings.error(of, "fail_action.redirect.host", "is missing, or is no host");
                    return None;
                }
                Some(Self::Redirect(redirect))
            }
            Some(Answer::BackupPoolUuid(uuid)) => match reference(uuid) {
                Some(uuid) => Some(Self::Backup(uuid.to_owned())),
                None => {
                    findings.error(of, "fail_action.backup_pool.backup_pool_ref", "names no pool");
                    None
                }
            },
            None => {
                findings.error(of, FIELD, UNKNOWN);
                None
            }
        }
    }

    /// The uuid of the pool that takes over.
    pub fn backup(&self) -> Option<&str> {
        match self {
            Self::Backup(uuid) => Some(uuid),
            _ => None,
        }
    }
}
