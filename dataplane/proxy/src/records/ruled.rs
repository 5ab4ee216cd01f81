//! The rules that have acted on a request, for its record. What no rule acts on pays for nothing here.

use weir_rules::{Acted, Judged, Names, ResponseJudged};
use weir_snapshot::Analytics;
use weir_telemetry::record::{Flags, RuleList};
use weir_wire::head::Fields;

use crate::{
    client::token::Admitted,
    records::{Noted, Recorder, Slot},
};

impl Recorder {
    /// The rules for requests have been tried. `fields`: of the request.
    #[cold]
    pub fn note_judged(&mut self, noted: Noted, analytics: &Analytics, judged: &Judged<'_>, fields: &Fields<'_>) {
        let Some(slot) = self.slot(noted) else { return };
        slot.note_rules(RuleList::Security, &judged.security_rules);
        slot.note_rules(RuleList::Requests, &judged.request_rules);
        slot.note_log(judged.log);
        let wants = judged.all_headers || judged.may_want_headers;
        if wants
            && !analytics.wants_headers(slot.draft.fixed.filters)
            && let Some(at) = noted.slot()
        {
            self.note_fields(analytics, at, fields, !judged.all_headers);
        }
    }

    /// The record of a request has the names that rules or scripts wanted to know.
    #[cold]
    pub fn note_names(&mut self, noted: Noted, names: &Names) {
        if let Some(told) = names.for_record()
            && let Some(slot) = self.slot(noted)
        {
            slot.draft.fixed.flags |= Flags::NAMED;
            slot.names = Some(told);
        }
    }

    /// Rules have said whether the request needs a token, or what its token is good for.
    #[cold]
    pub fn note_admitted(&mut self, noted: Noted, admitted: &Admitted<'_>) {
        let Some(slot) = self.slot(noted) else { return };
        if let Some(name) = admitted.authentication {
            slot.note_rule(RuleList::Authentication, name);
        }
        if let Some(name) = admitted.authorization {
            slot.note_rule(RuleList::Authorization, name);
        }
    }

    /// The same of the rules for responses.
    #[cold]
    pub fn note_response_judged(&mut self, noted: Noted, judged: &ResponseJudged<'_>) {
        let Some(slot) = self.slot(noted) else { return };
        slot.note_rules(RuleList::Responses, &judged.rules);
        slot.note_log(judged.log);
        if judged.all_headers {
            slot.awaits_rule = false;
            if slot.block.is_none() {
                slot.draft.fixed.flags |= Flags::HEADERS_CUT;
            }
        }
    }

    /// A rule of the virtual service has claimed the request for it.
    #[cold]
    pub fn note_host_rule(&mut self, noted: Noted, name: &str) {
        if let Some(slot) = self.slot(noted) {
            slot.note_rule(RuleList::Hosts, name);
        }
    }
}

impl Slot {
    fn note_rules(&mut self, list: RuleList, acted: &Acted<'_>) {
        acted.names().for_each(|name| self.note_rule(list, name));
        if acted.is_cut() {
            self.rules.cut(list);
        }
    }

    fn note_rule(&mut self, list: RuleList, name: &str) {
        if !self.draft.fixed.flags.has(Flags::RULED) {
            self.rules.clear();
            self.draft.fixed.flags |= Flags::RULED;
        }
        self.rules.add(list, name);
    }

    fn note_log(&mut self, is_wanted: bool) {
        if is_wanted {
            self.draft.fixed.flags |= Flags::LOGGED;
        }
    }
}
