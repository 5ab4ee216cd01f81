//! One rule: what it matches, and what it does.

use weir_api::dataplane::v1;
use weir_rules::{
    AddressMatch, Condition, Criterion, Edit, EditKind, FieldMatch, HostRule, HttpVersion, LocalResponse, NameMatch,
    NumberMatch, Redirect, Rewrite, Rule, TextError, TextMatch, TextRule, Token, TokenKind, Value, Variable,
    VersionMatch,
};
use weir_wire::head::{is_token, may_be_value};

use super::groups::Groups;
use crate::{
    finding::{Findings, Subject},
    variable::variable,
};

const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// Reads the rules of one list.
pub(crate) struct RuleReader<'s> {
    pub subject: Subject<'s>,
    /// The operator's name of the list.
    pub list: &'static str,
    pub groups: &'s Groups<'s>,
}

impl RuleReader<'_> {
    /// Where a rule is, for findings.
    pub fn at(&self, from: Option<&v1::HttpRule>) -> String {
        format!("{}.rules[{}]", self.list, from.map_or(0, |rule| rule.position))
    }

    /// The rule without its action. `of_response`: it may look at the response.
    pub fn rule(&self, from: Option<&v1::HttpRule>, of_response: bool, findings: &mut Findings) -> Option<Rule<()>> {
        let Some(from) = from else {
            findings.error(self.subject, self.list, "has a rule without a name and a match");
            return None;
        };
        let at = format!("{}.match", self.at(Some(from)));
        let mut reader = MatchReader { rules: self, at, findings, conditions: Vec::new(), is_sound: true };
        if let Some(matched) = &from.r#match {
            reader.request(matched);
            if of_response {
                reader.response(matched);
            }
        }
        let MatchReader { conditions, is_sound, .. } = reader;
        let Rule { name, log, all_headers, .. } = Rule {
            name: from.name.clone(),
            conditions: Vec::new(),
            log: from.log,
            all_headers: from.all_headers,
            action: (),
        };
        is_sound.then_some(Rule { name, conditions, log, all_headers, action: () })
    }

    /// What a request is compared with, outside of a policy; `at` is where that is.
    pub fn conditions(&self, at: String, from: &v1::HttpMatch, findings: &mut Findings) -> Option<Vec<Condition>> {
        let mut reader = MatchReader { rules: self, at, findings, conditions: Vec::new(), is_sound: true };
        reader.request(from);
        reader.is_sound.then_some(reader.conditions)
    }

    /// What a text is compared with, outside of a request.
    pub fn text(&self, at: &str, from: &v1::TextMatch, findings: &mut Findings) -> Option<TextMatch> {
        let mut reader =
            MatchReader { rules: self, at: String::new(), findings, conditions: Vec::new(), is_sound: true };
        let text = reader.text_match(from, at);
        text.filter(|_| reader.is_sound)
    }

    pub fn edits(&self, at: &str, from: &[v1::HeaderEdit], findings: &mut Findings) -> Option<Vec<Edit>> {
        let edits: Vec<_> = from
            .iter()
            .enumerate()
            .map(|(number, edit)| {
                let made = edit_of(edit);
                made.map_err(|why| findings.error(self.subject, format!("{at}.hdr_action[{number}]"), why)).ok()
            })
            .collect();
        edits.into_iter().collect()
    }

    pub fn redirect(&self, at: &str, from: &v1::HttpRedirect, findings: &mut Findings) -> Option<Redirect> {
        redirect(self.subject, at, from, findings)
    }

    pub fn rewrite(&self, at: &str, from: &v1::HttpRewrite, findings: &mut Findings) -> Option<Rewrite> {
        let host = tokens(self.subject, at, "host_hdr", &from.host, findings);
        let path = tokens(self.subject, at, "path", &from.path, findings);
        query(self.subject, at, &from.add_query, findings)?;
        Some(Rewrite { host: host?, path: path?, keep_query: from.keep_query, add_query: from.add_query.clone() })
    }
}

/// A redirect that ends a request.
pub(crate) fn check_redirect(
    subject: Subject<'_>,
    at: &str,
    from: &v1::HttpRedirect,
    findings: &mut Findings,
) -> Option<Redirect> {
    let redirect = redirect(subject, at, from, findings)?;
    if !matches!(redirect.status, 301 | 302 | 303 | 307 | 308) {
        let message = format!("{} is no status of a redirect", redirect.status);
        findings.error(subject, format!("{at}.status_code"), message);
    }
    Some(redirect)
}

fn redirect(subject: Subject<'_>, at: &str, from: &v1::HttpRedirect, findings: &mut Findings) -> Option<Redirect> {
    let port = match from.port {
        0 => None,
        port => match u16::try_from(port) {
            Ok(port) => Some(port),
            Err(_) => {
                findings.error(subject, format!("{at}.port"), format!("{port} is not a port"));
                return None;
            }
        },
    };
    let host = tokens(subject, at, "host", &from.host, findings);
    let path = tokens(subject, at, "path", &from.path, findings);
    query(subject, at, &from.add_query, findings)?;
    Some(Redirect {
        status: u16::try_from(from.status).unwrap_or_default(),
        tls: from.tls,
        port,
        host: host?,
        path: path?,
        keep_query: from.keep_query,
        add_query: from.add_query.clone(),
    })
}

fn query(subject: Subject<'_>, at: &str, text: &str, findings: &mut Findings) -> Option<()> {
    let may_stand = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    if !text.bytes().all(may_stand) {
        findings.error(subject, format!("{at}.add_string"), format!("{text:?} cannot stand in a query"));
        return None;
    }
    Some(())
}

fn tokens(
    subject: Subject<'_>,
    at: &str,
    part: &str,
    from: &[v1::UriToken],
    findings: &mut Findings,
) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    for (number, token) in from.iter().enumerate() {
        let kind = match v1::UriTokenKind::try_from(token.kind) {
            Ok(v1::UriTokenKind::Text) => TokenKind::text(&token.text),
            Ok(v1::UriTokenKind::Host) => TokenKind::Host,
            Ok(v1::UriTokenKind::Path) => TokenKind::Path,
            Ok(v1::UriTokenKind::GroupValue) => TokenKind::GroupValue,
            Ok(v1::UriTokenKind::PathRegex) => TokenKind::PathRegex,
            Ok(v1::UriTokenKind::QueryRegex) => TokenKind::QueryRegex,
            Ok(v1::UriTokenKind::Unspecified) | Err(_) => {
                findings.error(subject, format!("{at}.{part}.tokens[{number}].type"), UNKNOWN);
                return None;
            }
        };
        tokens.push(Token { kind, parts: token.first..=token.last });
    }
    Some(tokens)
}

/// A response of the engine itself.
pub(crate) fn check_response(
    subject: Subject<'_>,
    at: &str,
    from: &v1::LocalResponse,
    findings: &mut Findings,
) -> Option<LocalResponse> {
    let status = u16::try_from(from.status).ok().filter(|status| (200..=599).contains(status));
    if status.is_none() {
        findings.error(subject, format!("{at}.status_code"), format!("{} is no status from 200 to 599", from.status));
    }
    if !may_be_value(from.content_type.as_bytes()) {
        let message = format!("{:?} cannot stand in a field", from.content_type);
        findings.error(subject, format!("{at}.file.content_type"), message);
        return None;
    }
    let (content_type, content) = (from.content_type.clone(), from.content.clone());
    Some(LocalResponse { status: status?, content_type, content })
}

fn edit_of(from: &v1::HeaderEdit) -> Result<Edit, String> {
    let kind = match v1::EditKind::try_from(from.kind) {
        Ok(v1::EditKind::Add) => EditKind::Add,
        Ok(v1::EditKind::Remove) => EditKind::Remove,
        Ok(v1::EditKind::Replace) => EditKind::Replace,
        Ok(v1::EditKind::Unspecified) | Err(_) => return Err(format!("its action {UNKNOWN}")),
    };
    if !is_token(from.name.as_bytes()) {
        return Err(format!("{:?} is no name of a field or a cookie", from.name));
    }
    if !from.cookie && weir_wire::head::Name::of(from.name.as_bytes()).is_of_framing() {
        return Err(format!(
            "{} belongs to the connection or says how long the content is: no rule changes it",
            from.name
        ));
    }
    let value = match &from.value {
        None if kind == EditKind::Remove => None,
        None => return Err("has no value".to_owned()),
        Some(value) => Some(value_of(value)?),
    };
    Ok(Edit { kind, name: from.name.clone(), cookie: from.cookie, value })
}

/// A text of a header field, or a variable.
pub(crate) fn value_of(from: &v1::HeaderValue) -> Result<Value, String> {
    use v1::HeaderVariable;
    Ok(match HeaderVariable::try_from(from.variable) {
        Ok(HeaderVariable::None) if may_be_value(from.text.as_bytes()) => Value::Text(from.text.clone()),
        Ok(HeaderVariable::None) => return Err(format!("{:?} cannot stand in a field", from.text)),
        Ok(HeaderVariable::Field) => Value::Variable(Variable::Field(from.field.clone())),
        _ => Value::Variable(variable(from.variable).ok_or_else(|| format!("its variable {UNKNOWN}"))?),
    })
}

/// Reads what a rule matches. What is cheap to look at comes first.
struct MatchReader<'r, 'f> {
    rules: &'r RuleReader<'r>,
    at: String,
    findings: &'f mut Findings,
    conditions: Vec<Condition>,
    is_sound: bool,
}

impl MatchReader<'_, '_> {
    fn request(&mut self, from: &v1::HttpMatch) {
        if let Some(scheme) = &from.scheme {
            self.conditions.push(Condition::Tls(scheme.tls));
        }
        if let Some(port) = &from.listener_port {
            self.conditions.push(Condition::ListenerPort(number(port)));
        }
        if let Some(method) = &from.method {
            let (negated, names) = (method.negated, method.names.clone());
            self.conditions.push(Condition::Method(NameMatch { negated, names }));
        }
        if let Some(version) = &from.version {
            self.version(version);
        }
        self.text(from.host.as_ref(), "host_hdr", |text| HostRule::compile(text).map(Condition::Host));
        self.text(from.path.as_ref(), "path", |text| TextRule::compile(text).map(Condition::Path));
        self.text(from.query.as_ref(), "query", |text| TextRule::compile(text).map(Condition::Query));
        self.addresses(from.client.as_ref(), "client_ip", Condition::Client);
        self.addresses(from.source.as_ref(), "source_ip", Condition::Source);
        self.addresses(from.place.as_ref(), "geo_matches", Condition::Client);
        self.fields(&from.fields, "hdrs", Condition::Field);
        self.field(from.cookie.as_ref(), "cookie", Condition::Cookie);
    }

    fn response(&mut self, from: &v1::HttpMatch) {
        if let Some(status) = &from.status {
            self.conditions.push(Condition::Status(number(status)));
        }
        self.text(from.location.as_ref(), "loc_hdr", |text| TextRule::compile(text).map(Condition::Location));
        self.fields(&from.response_fields, "rsp_hdrs", Condition::ResponseField);
    }

    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        let at = if self.at.is_empty() { field.to_owned() } else { format!("{}.{field}", self.at) };
        self.findings.error(self.rules.subject, at, message);
        self.is_sound = false;
    }

    fn version(&mut self, from: &v1::NameMatch) {
        let version = |name: &String| match name.as_str() {
            "HTTP/0.9" => Some(HttpVersion::Http09),
            "HTTP/1.0" => Some(HttpVersion::Http10),
            "HTTP/1.1" => Some(HttpVersion::Http11),
            "HTTP/2" => Some(HttpVersion::Http2),
            _ => None,
        };
        match from.names.iter().map(version).collect() {
            Some(versions) => {
                self.conditions.push(Condition::Version(VersionMatch { negated: from.negated, versions }))
            }
            None => self.refuse("version", UNKNOWN),
        }
    }

    fn addresses(&mut self, from: Option<&v1::AddressMatch>, field: &str, condition: fn(AddressMatch) -> Condition) {
        let Some(from) = from else { return };
        let within = format!("{}.{field}.", self.at);
        match self.rules.groups.address_match(self.rules.subject, &within, from, self.findings) {
            Some(matched) => self.conditions.push(condition(matched)),
            None => self.is_sound = false,
        }
    }

    fn fields(&mut self, from: &[v1::FieldMatch], list: &str, condition: fn(FieldMatch) -> Condition) {
        for (number, field) in from.iter().enumerate() {
            self.field(Some(field), &format!("{list}[{number}]"), condition);
        }
    }

    fn field(&mut self, from: Option<&v1::FieldMatch>, at: &str, condition: fn(FieldMatch) -> Condition) {
        let Some(from) = from else { return };
        let Some(value) = &from.value else { return self.refuse(at, "has nothing to compare with") };
        let name = from.name.clone();
        self.text(Some(value), at, |text| {
            TextRule::compile(text).map(|value| condition(FieldMatch { name: name.clone(), value }))
        });
    }

    fn text(
        &mut self,
        from: Option<&v1::TextMatch>,
        field: &str,
        compile: impl Fn(&TextMatch) -> Result<Condition, TextError>,
    ) {
        let Some(from) = from else { return };
        let Some(text) = self.text_match(from, field) else { return };
        match compile(&text) {
            Ok(condition) => self.conditions.push(condition),
            Err(error) => self.refuse(field, error.to_string()),
        }
    }

    fn text_match(&mut self, from: &v1::TextMatch, field: &str) -> Option<TextMatch> {
        let criterion = match v1::TextCriterion::try_from(from.criterion) {
            Ok(v1::TextCriterion::Equals) => Criterion::Equals,
            Ok(v1::TextCriterion::BeginsWith) => Criterion::BeginsWith,
            Ok(v1::TextCriterion::EndsWith) => Criterion::EndsWith,
            Ok(v1::TextCriterion::Contains) => Criterion::Contains,
            Ok(v1::TextCriterion::Exists) => Criterion::Exists,
            Ok(v1::TextCriterion::Regex) => Criterion::Regex,
            Ok(v1::TextCriterion::Unspecified) | Err(_) => {
                self.refuse(&format!("{field}.match_criteria"), UNKNOWN);
                return None;
            }
        };
        let mut groups = Vec::new();
        for uuid in &from.string_group_uuids {
            match self.rules.groups.strings.find(uuid) {
                Some(Some(kept)) => groups.push(kept.object.clone()),
                Some(None) => self.is_sound = false,
                None => self.refuse(&format!("{field}.string_group_refs"), format!("there is no string group {uuid}")),
            }
        }
        Some(TextMatch {
            criterion,
            negated: from.negated,
            values: from.values.clone(),
            groups,
            case_sensitive: from.case_sensitive,
            decoded: from.decoded,
        })
    }
}

pub(crate) fn number(from: &v1::NumberMatch) -> NumberMatch {
    NumberMatch { negated: from.negated, ranges: from.ranges.iter().map(|range| range.first..=range.last).collect() }
}
