//! What a virtual service replaces in the content of responses.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_coding::{BadPair, MediaTypes, Of, Pair, Part, Rewrite, Search};
use weir_rules::Value;

use crate::{
    finding::{Findings, Subject},
    policies::rule::value_of,
};

const REWRITE: &str = "content_rewrite";

/// The outer `None`: it cannot be used, and the findings say why. The inner: nothing is rewritten. `before`: what was
/// rewritten before, and by what.
pub(crate) fn read(
    service: Subject<'_>,
    from: &v1::ContentRewrite,
    before: Option<(&v1::ContentRewrite, &Arc<Rewrite>)>,
    findings: &mut Findings,
) -> Option<Option<Arc<Rewrite>>> {
    let types = || MediaTypes::of(from.content_types.iter().map(String::as_str));
    if types().is_empty() {
        findings.warning(service, format!("{REWRITE}.rewritable_content_ref"), "is empty: nothing is rewritten");
    }
    // It takes long to make. What has pairs without effect is made again, for its findings.
    if let Some((source, rewrite)) = before
        && source == from
        && rewrite.pairs() == from.pairs.len()
    {
        return Some(Some(rewrite.clone()));
    }
    let mut variables = Vec::new();
    let (mut numbers, mut pairs) = (Vec::new(), Vec::new());
    for source in &from.pairs {
        match pair(source, &mut variables) {
            Ok(pair) => {
                numbers.push(source.number);
                pairs.push(pair);
            }
            Err(why) => {
                findings.error(service, field(source.number, Of::Search), why);
                return None;
            }
        }
    }
    loop {
        match Rewrite::new(types(), pairs.clone(), variables.clone()) {
            Ok(rewrite) => return Some(Some(Arc::new(rewrite))),
            // Engines and the controller may differ about what is an expression: nothing else waits for that.
            Err(BadPair { pair, of, why }) => {
                let is_expression = |pair: &Pair| matches!(pair.search, Search::Expression(_));
                // If all of them together are too much, the last one is.
                let idle = match pair {
                    Some(at) => Some(at).filter(|at| is_expression(&pairs[*at])),
                    None => pairs.iter().rposition(is_expression),
                };
                if let Some(at) = idle {
                    findings.warning(service, field(numbers[at], of), format!("{why}: the pair has no effect"));
                    numbers.remove(at);
                    pairs.remove(at);
                    if pairs.is_empty() {
                        return Some(None);
                    }
                    continue;
                }
                let field = pair.map_or_else(|| format!("{REWRITE}.rsp_rewrite_rules"), |at| field(numbers[at], of));
                findings.error(service, field, why);
                return None;
            }
        }
    }
}

fn field(number: u32, of: Of) -> String {
    let side = match of {
        Of::Search => "search_string",
        Of::Replacement => "replacement_string",
    };
    format!("{REWRITE}.rsp_rewrite_rules[0].pairs[{number}].{side}.val")
}

fn pair(from: &v1::Replacement, variables: &mut Vec<Value>) -> Result<Pair, String> {
    let search = match &from.search_variable {
        Some(variable) => Search::Variable(number_of(variable, variables)?),
        None if from.is_expression => Search::Expression(from.search.clone()),
        None => Search::Text(from.search.as_bytes().into()),
    };
    let mut part = |part: &v1::ReplacementPart| {
        use v1::replacement_part::Part as Given;
        Ok(match &part.part {
            Some(Given::Text(text)) => Part::Text(text.as_bytes().into()),
            Some(Given::Group(group)) => Part::Group(*group as usize),
            Some(Given::Variable(variable)) => Part::Variable(number_of(variable, variables)?),
            None => return Err("has a part that is unknown to this engine; upgrade the engine".to_owned()),
        })
    };
    let replacement = match from.parts.is_empty() {
        true => [Part::Text(from.replacement.as_bytes().into())].into(),
        false => from.parts.iter().map(&mut part).collect::<Result<_, _>>()?,
    };
    Ok(Pair { search, replacement })
}

/// The number of a variable among those of the virtual service.
fn number_of(variable: &v1::HeaderValue, variables: &mut Vec<Value>) -> Result<usize, String> {
    let value = value_of(variable)?;
    Ok(variables.iter().position(|known| *known == value).unwrap_or_else(|| {
        variables.push(value);
        variables.len() - 1
    }))
}
