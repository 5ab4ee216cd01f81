"""Reads the metrics of the controller at WEIR_HOST:WEIR_PORT with the machinery that Datadog's check for Avi is made of:
a login by form, a scrape for each kind of object with its base for OpenMetrics, the version, and a logout."""
import os

from datadog_checks.base import OpenMetricsBaseCheckV2
from datadog_checks.base.stubs import aggregator
import urllib3

urllib3.disable_warnings()
URL = 'https://%s:%s' % (os.environ['WEIR_HOST'], os.environ['WEIR_PORT'])
KINDS = ('virtualservice', 'pool', 'serviceengine', 'controller')


class Check(OpenMetricsBaseCheckV2):
    __NAMESPACE__ = 'avi'
    DEFAULT_METRIC_LIMIT = 0

    def __init__(self):
        super().__init__('avi', {}, [{'persist_connections': True, 'tls_verify': False}])

    def configure_scrapers(self):
        self.scrapers.clear()
        for kind in KINDS:
            endpoint = URL + '/api/analytics/prometheus-metrics/' + kind
            scraper = self.create_scraper({
                'openmetrics_endpoint': endpoint, 'tls_verify': False, 'persist_connections': True,
                'metrics': [{'avi_(.+)': {'type': 'gauge'}}],
                'rename_labels': {'type': 'avi_type', 'tenant': 'avi_tenant', 'name': kind + '_name'}})
            scraper.http = self.http
            self.scrapers[endpoint] = scraper

    def check(self, _):
        answer = self.http.post(URL + '/login', data={'username': 'admin', 'password': os.environ['WEIR_PASSWORD']})
        answer.raise_for_status()
        assert self.http.get(URL + '/api/cluster/version').json()['Version']
        super().check(None)
        self.http.post(URL + '/logout', extra_headers={
            'X-CSRFToken': self.http.session.cookies['csrftoken'], 'Referer': URL}).raise_for_status()
        assert self.http.get(URL + '/api/pool').status_code == 401


check = Check()
said = check.run()
assert said == '', said
names = set(aggregator.metric_names)
for wanted in ('l4_client_avg_bandwidth', 'l7_client_avg_complete_responses', 'l4_server_avg_open_conns',
               'se_stats_avg_cpu_usage', 'controller_stats_avg_cpu_usage', 'healthscore_health_score_value'):
    wanted = 'avi.avi_' + wanted
    assert wanted in names, (wanted, sorted(names))
bandwidth = aggregator.metrics('avi.avi_l4_client_avg_bandwidth')
assert len(bandwidth) == 1, bandwidth
tags = set(bandwidth[0].tags)
assert {'virtualservice_name:web', 'avi_tenant:admin', 'avi_type:virtualservice'} <= tags, tags
servers = [m for m in aggregator.metrics('avi.avi_l4_server_avg_bandwidth') if any(t.startswith('server:') for t in m.tags)]
assert servers, 'no metrics of single servers'
