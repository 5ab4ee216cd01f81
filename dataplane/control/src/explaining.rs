//! Questions of the agent about requests that nobody sends, and the answers of a worker, as the contract has them.

use std::net::{IpAddr, SocketAddr};

use weir_api::dataplane::v1::{self, Eligibility};
use weir_proxy::explain::{
    Acting, Admittance, Algorithm, Bond, BoundBy, Bypass, Chosen, EditKind, EditedName, Explanation, FromCache, Picked,
    PickedMember, Question, RulesTold, Standing,
};
use weir_snapshot::{CertificateMode, HashInput, Pool};

/// Beyond it a request has no place in any head.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Request rules that are told, beside those that decide.
const REQUEST_RULES_MAX: usize = 100;

/// Reads a question. The error says what is wrong with it.
pub fn read(asked: &v1::Question) -> Result<Question, String> {
    Ok(Question {
        listener: address("address", &asked.address, asked.port)?,
        tls: asked.tls,
        server_name: asked.server_name.clone(),
        client: address("client_address", &asked.client_address, asked.client_port)?,
        head: head(asked)?,
    })
}

fn address(field: &str, ip: &str, port: u32) -> Result<SocketAddr, String> {
    let ip: IpAddr = ip.parse().map_err(|_| format!("{field} {ip:?} is no IP address"))?;
    let port = u16::try_from(port).map_err(|_| format!("{port} is no port"))?;
    Ok(SocketAddr::new(ip, port))
}

/// The head as HTTP/1.1 has it. Other nonsense in its parts than the end of a line is for the parser to refuse, as it would
/// that of a client.
fn head(asked: &v1::Question) -> Result<Vec<u8>, String> {
    let mut head = format!("{} {} HTTP/1.1\r\n", asked.method, asked.target);
    if !asked.host.is_empty() {
        head += &format!("Host: {}\r\n", asked.host);
    }
    for v1::Field { name, value } in &asked.fields {
        head += &format!("{name}: {value}\r\n");
    }
    let lines = 1 + usize::from(!asked.host.is_empty()) + asked.fields.len();
    if head.bytes().filter(|byte| matches!(byte, b'\r' | b'\n')).count() != 2 * lines {
        return Err("a part of the request holds the end of a line".into());
    }
    if head.len() > HEAD_BYTES_MAX {
        return Err(format!("the head of the request has more than {HEAD_BYTES_MAX} bytes"));
    }
    head += "\r\n";
    Ok(head.into_bytes())
}

/// Why a question has no answer.
pub fn refuse(id: u64, error: impl Into<String>) -> v1::Explanation {
    v1::Explanation { id, error: error.into(), ..Default::default() }
}

/// What a worker, one of some, tells about a question.
pub fn write(id: u64, told: &Explanation, revision: u64, (worker, workers): (u32, u32)) -> v1::Explanation {
    let mut answer = v1::Explanation { id, revision, worker, workers, ..Default::default() };
    if let Some(service) = &told.service {
        answer.virtual_service_uuid.clone_from(&service.uuid);
        answer.drains = service.drains;
    }
    if let Some((child, chosen)) = &told.child {
        answer.child_uuid.clone_from(&child.uuid);
        answer.drains = child.drains;
        answer.child_chosen = match chosen {
            Chosen::ByServerName => v1::Chosen::ByServerName,
            Chosen::ByRequest => v1::Chosen::ByRequest,
        }
        .into();
    }
    answer.security_rule = told.security_rule.clone().unwrap_or_default();
    answer.client_certificate = match told.certificate_mode {
        None | Some(CertificateMode::None) => v1::ClientCertificateMode::None,
        Some(CertificateMode::Request) => v1::ClientCertificateMode::Request,
        Some(CertificateMode::Require) => v1::ClientCertificateMode::Require,
    }
    .into();
    answer.rules = Some(write_rules(&told.rules));
    let [authentication, authorization] = told.access_rules.clone().map(Option::unwrap_or_default);
    (answer.authentication_rule, answer.authorization_rule) = (authentication, authorization);
    answer.said = told.said.clone();
    if let Some(cache) = told.cache {
        let (kind, age_s) = match cache {
            FromCache::Hit { age_s } => ("hit", age_s),
            FromCache::Stale { age_s } => ("stale", age_s),
            FromCache::Miss => ("miss", 0),
            FromCache::Changes => ("changes", 0),
            FromCache::Bypass(Bypass::Method) => ("bypass_method", 0),
            FromCache::Bypass(Bypass::Body) => ("bypass_body", 0),
            FromCache::Bypass(Bypass::Path) => ("bypass_path", 0),
            FromCache::Bypass(Bypass::Condition) => ("bypass_condition", 0),
            FromCache::Bypass(Bypass::Server) => ("bypass_server", 0),
            FromCache::Bypass(Bypass::Unnamed) => ("bypass_unnamed", 0),
        };
        answer.cache = Some(v1::CacheTold { kind: kind.into(), age_s });
    }
    answer.is_rewritten = told.is_rewritten;
    answer.limit = told.limit.clone().unwrap_or_default();
    answer.throughput_mbps = u32::try_from(told.throughput_mbps).unwrap_or(u32::MAX);
    if let Some(local) = &told.local {
        answer.status = local.status.unwrap_or_default().into();
        answer.cause = local.cause.into();
        answer.location = String::from_utf8_lossy(&local.location).into_owned();
    }
    if let Some((group, standing)) = &told.group {
        answer.pool_group_uuid.clone_from(&group.uuid);
        let members = group.pools.iter().zip(&group.balance.members).zip(standing);
        let members = members.map(|((pool, spec), now)| v1::MemberStanding {
            pool_uuid: pool.uuid.clone(),
            ratio: spec.ratio,
            priority: spec.priority,
            servers_up: now.servers as u32,
            deactivated: now.is_deactivated,
        });
        answer.members = members.collect();
    }
    answer.picked_member = match told.member {
        None => v1::PickedMember::Unspecified,
        Some(PickedMember::ByRatio) => v1::PickedMember::ByRatio,
        Some(PickedMember::ByAddress) => v1::PickedMember::ByAddress,
        Some(PickedMember::ByPersistence) => v1::PickedMember::ByPersistence,
        Some(PickedMember::AsBackup) => v1::PickedMember::AsBackup,
    }
    .into();
    if let Some(pool) = &told.pool {
        write_pool(&mut answer, pool, told);
    }
    answer
}

fn write_rules(told: &RulesTold) -> v1::RulesTold {
    let edits = |edits: &[EditedName]| edits.iter().map(write_edit).collect();
    let text = |bytes: Option<&Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let is_told = |(at, rule): &(usize, &Acting)| *at < REQUEST_RULES_MAX || rule.decides();
    let rules = told.requests.iter().enumerate().filter(is_told).map(|(_, rule)| v1::RuleTold {
        policy_set: rule.set.clone(),
        name: rule.name.clone(),
        edits: edits(&rule.edits),
        host: text(rule.rewrites_to.as_ref().and_then(|to| to.host.as_ref())).unwrap_or_default(),
        target: text(rule.rewrites_to.as_ref().map(|to| &to.target)).unwrap_or_default(),
        rewrites_late: rule.rewrites_late,
        chooses: rule.chooses,
        chooses_late: rule.chooses_late,
        status: rule.answer.as_ref().map_or(0, |answer| answer.status.into()),
        location: text(rule.answer.as_ref().and_then(|answer| answer.location.as_ref())).unwrap_or_default(),
        lacks_part: rule.lacks_part,
    });
    v1::RulesTold {
        network_rule: told.network.as_ref().map(|(name, _)| name.to_string()).unwrap_or_default(),
        network_rule_bars: told.network.as_ref().is_some_and(|(_, decided)| *decided == Admittance::Barred),
        request_rules: rules.collect(),
        request_rules_total: told.requests.len() as u32,
        pool_rule: told.pool.clone().unwrap_or_default(),
        pool_by_script: told.pool_by_script,
        script_edits: edits(&told.edits_of_scripts),
        host: text(told.host.as_ref()).unwrap_or_default(),
        target: text(told.target.as_ref()).unwrap_or_default(),
    }
}

fn write_edit(edit: &EditedName) -> v1::EditTold {
    let kind = match edit.kind {
        EditKind::Add => v1::EditKind::Add,
        EditKind::Remove => v1::EditKind::Remove,
        EditKind::Replace => v1::EditKind::Replace,
    };
    v1::EditTold { kind: kind.into(), name: edit.name.clone(), cookie: edit.cookie }
}

fn write_pool(answer: &mut v1::Explanation, pool: &Pool, told: &Explanation) {
    answer.pool_uuid.clone_from(&pool.uuid);
    answer.algorithm = match pool.balance.algorithm {
        Algorithm::LeastConnections => v1::Algorithm::LeastConnections,
        Algorithm::RoundRobin => v1::Algorithm::RoundRobin,
        Algorithm::ConsistentHash => v1::Algorithm::ConsistentHash,
        Algorithm::Random => v1::Algorithm::Random,
        Algorithm::FastestResponse => v1::Algorithm::FastestResponse,
        Algorithm::LeastLoad => v1::Algorithm::LeastLoad,
        Algorithm::FewestServers => v1::Algorithm::FewestServers,
        Algorithm::FewestTasks => v1::Algorithm::FewestTasks,
        Algorithm::CoreAffinity => v1::Algorithm::CoreAffinity,
        Algorithm::RoundRobinOfEngine => v1::Algorithm::RoundRobinOfEngine,
    }
    .into();
    answer.hash_input = match pool.hash_input {
        HashInput::SourceAddress(_) => v1::HashInput::SourceAddress,
        HashInput::SourceAddressAndPort => v1::HashInput::SourceAddressAndPort,
        HashInput::Uri => v1::HashInput::Uri,
        HashInput::Header(_) => v1::HashInput::Header,
        HashInput::TlsSession => v1::HashInput::TlsSession,
    }
    .into();
    if let Some((position, picked)) = told.picked {
        answer.server_id = pool.servers.get(position).map(|server| server.name.clone()).unwrap_or_default();
        answer.picked = match picked {
            Picked::ByAlgorithm => v1::Picked::ByAlgorithm,
            Picked::ByPersistence => v1::Picked::ByPersistence,
            Picked::ForTrial => v1::Picked::ForTrial,
            Picked::AsLast => v1::Picked::AsLast,
        }
        .into();
    }
    answer.waits_behind = told.queued.map(|waiting| waiting as u32);
    if let Some((server, by, bond)) = told.bound {
        let bound = pool.servers.iter().find(|known| Some(known.id) == server);
        answer.bound_server_id = bound.map(|server| server.name.clone()).unwrap_or_default();
        answer.bound_by = match by {
            BoundBy::Cookie => v1::BoundBy::Cookie,
            BoundBy::Field => v1::BoundBy::Header,
            BoundBy::Address => v1::BoundBy::Address,
        }
        .into();
        answer.bond = match bond {
            Bond::Expired => v1::Bond::Expired,
            Bond::ServerDown => v1::Bond::ServerDown,
            Bond::ServerDisabled => v1::Bond::ServerDisabled,
            Bond::ServerBusy => v1::Bond::ServerBusy,
            Bond::Kept | Bond::Undated | Bond::Ruled if server.is_some() => v1::Bond::Kept,
            Bond::Kept | Bond::Undated | Bond::Ruled => v1::Bond::None,
        }
        .into();
    }
    answer.servers_total = pool.servers.len() as u32;
    let servers = pool.servers.iter().zip(&pool.balance.servers).zip(&told.servers);
    answer.servers = servers
        .map(|((server, spec), told)| v1::Standing {
            server_id: server.name.clone(),
            eligibility: eligibility(told.standing).into(),
            connections: told.connections,
            max_connections: spec.max_connections,
            ratio: spec.ratio,
            share_percent: told.share_percent,
        })
        .collect();
}

fn eligibility(standing: Standing) -> Eligibility {
    match standing {
        Standing::Eligible => Eligibility::Eligible,
        Standing::Disabled => Eligibility::Disabled,
        Standing::Down => Eligibility::Down,
        Standing::Full => Eligibility::Full,
        Standing::Suspect => Eligibility::Suspect,
        Standing::Ejected => Eligibility::Ejected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> v1::Question {
        v1::Question {
            address: "10.0.0.1".into(),
            port: 443,
            client_address: "2001:db8::1".into(),
            client_port: 40_000,
            method: "GET".into(),
            target: "/a?b".into(),
            host: "shop.test".into(),
            fields: vec![v1::Field { name: "Cookie".into(), value: "a=b".into() }],
            ..Default::default()
        }
    }

    #[test]
    fn question_is_the_head_that_a_client_would_send() {
        let question = read(&asked()).unwrap();
        assert_eq!(question.head, b"GET /a?b HTTP/1.1\r\nHost: shop.test\r\nCookie: a=b\r\n\r\n");
        assert_eq!((question.listener.port(), question.client.port()), (443, 40_000));
    }

    #[test]
    fn no_part_may_hold_another_line() {
        let edits: [fn(&mut v1::Question); 5] = [
            |asked| asked.method = "GET / HTTP/1.1\r\nX: y\r\n\r\nGET".into(),
            |asked| asked.target = "/\n".into(),
            |asked| asked.host = "a\rb".into(),
            |asked| asked.fields[0].name = "X\r\nY".into(),
            |asked| asked.fields[0].value = "1\r\n\r\n".into(),
        ];
        for edit in edits {
            let mut asked = asked();
            edit(&mut asked);
            assert!(read(&asked).is_err(), "{asked:?}");
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        let wrong = |edit: fn(&mut v1::Question)| {
            let mut asked = asked();
            edit(&mut asked);
            read(&asked).err().unwrap()
        };
        assert_eq!(wrong(|asked| asked.address = "shop.test".into()), "address \"shop.test\" is no IP address");
        assert_eq!(wrong(|asked| asked.port = 70_000), "70000 is no port");
        assert!(wrong(|asked| asked.client_address.clear()).contains("client_address"));
        assert!(wrong(|asked| asked.target = "x".repeat(HEAD_BYTES_MAX)).contains("more than"));
    }
}
