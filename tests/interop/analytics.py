"""Reads metrics, health scores, inventories and logs as the samples of Avi do, from the controller at
WEIR_HOST:WEIR_PORT. Ends with 1 at the first surprise. "web" has served WEIR_REQUESTS requests in tenant admin, and
"shop" as many in tenant blue."""
import datetime
import os
import time

from avi.sdk.avi_api import APIError, ApiSession
from avi.sdk.utils.api_utils import ApiUtils

HOST, PORT, PASSWORD = os.environ['WEIR_HOST'], int(os.environ['WEIR_PORT']), os.environ['WEIR_PASSWORD']
REQUESTS = int(os.environ['WEIR_REQUESTS'])


def session(tenant='admin'):
    ApiSession.clear_cached_sessions()
    return ApiSession('https://' + HOST, username='admin', password=PASSWORD, port=PORT, tenant=tenant,
                      api_version='30.2.1', verify=False)


def values(series):
    return [point['value'] for point in series['data']]


def metrics_are_read_by_name():
    utils = ApiUtils(session())
    now = datetime.datetime.now(datetime.timezone.utc)
    asked = utils.get_metrics('virtualservice', 'web', step=300, limit=1, stop=now.strftime('%Y-%m-%dT%H:%M:%SZ'),
                              metric_id=['l7_client.sum_total_responses', 'l4_client.avg_bandwidth', 'l7_client.avg_waf_attacks'])
    responses, bandwidth, attacks = asked['series']
    assert asked['metric_entity'] == 'VSERVER_METRICS_ENTITY' and asked['step'] == 300 and asked['limit'] == 1, asked
    assert responses['header']['statistics']['sum'] >= REQUESTS, responses
    assert responses['data'][0]['timestamp'].endswith('+00:00'), responses
    assert bandwidth['header']['units'] == 'BITS_PER_SECOND' and bandwidth['data'][0]['value'] > 0, bandwidth
    assert attacks['data'][0]['value'] is None and attacks['data'][0]['is_null'] is True, attacks
    # as exporters do, of an object that never had real-time metrics on
    newest = utils.get_metrics('virtualservice', 'web', step=5, limit=1, metric_id='l4_client.max_open_conns')
    assert newest['step'] == 5 and len(newest['series'][0]['data']) == 1, newest
    for kind, name, ids in (('pool', 'web', 'l4_server.avg_open_conns'), ('serviceengine', 'engine-1', 'se_stats.avg_cpu_usage')):
        found = utils.get_metrics(kind, name, metric_id=ids, step=15, limit=4, pad_missing_data=False)
        assert found['series'][0]['header']['name'] == ids and None not in values(found['series'][0]), found
    # the first interval may have begun before the engine was there
    for _ in range(40):
        controller = utils.get_metrics('controller', '', metric_id='controller_stats.avg_cpu_usage,controller_stats.avg_num_ses',
                                       step=15, limit=4)
        if controller['results'][0]['series'][1]['header']['statistics'].get('max') == 1:
            break
        time.sleep(1)
    assert controller['results'][0]['series'][1]['header']['statistics']['max'] == 1, controller


def health_scores_are_read():
    a = session()
    # the first score comes with the first grading, and its sample with the collection after it
    for _ in range(60):
        scores = ApiUtils(a).get_healthscore('virtualservice', 'web', step=15, limit=8)
        header = scores['series'][0]['header']
        if header['statistics'].get('num_samples'):
            break
        time.sleep(1)
    assert header['name'] == 'healthscore.health_score_value' and 0 < header['statistics']['last_sample'] <= 100, scores
    web = a.get_object_by_name('virtualservice', 'web')
    page = a.get('analytics/healthscore/virtualservice/' + web['uuid'], params={'step': 300, 'limit': 1}).json()
    newest = page['series'][0]['data'][-1]
    assert 0 < newest['value'] <= 100 and 'performance_value' in newest and 'security_penalty' in newest, page


def collections_go_by_id_or_object():
    a = session('*')
    web, shop = (a.get_object_by_name('virtualservice', name)['uuid'] for name in ('web', 'shop'))
    pool = a.get_object_by_name('pool', 'web')['uuid']

    def collect(*requests):
        return a.post('analytics/metrics/collection', data={'metric_requests': list(requests)}).json()['series']
    every = {'step': '5', 'limit': 1, 'entity_uuid': '*', 'metric_entity': 'VSERVER_METRICS_ENTITY',
             'aggregate_entity': 'True', 'include_statistics': 'True', 'metric_id': 'l4_client.avg_bandwidth,l7_client.apdexr'}
    with_id = collect(dict(every, id='all'))
    assert set(with_id) == {'all'} and set(with_id['all']) == {web, shop} and len(with_id['all'][web]) == 2, with_id
    assert set(collect(every)) == {web, shop}
    one = collect({'step': 300, 'limit': 1, 'entity_uuid': web + ',' + shop, 'metric_id': 'l4_client.avg_bandwidth'})
    assert one[shop][0]['header']['entity_uuid'] == shop, one
    servers = collect({'id': 's', 'step': 15, 'limit': 8, 'entity_uuid': pool, 'pool_uuid': pool, 'obj_id': '*',
                       'metric_entity': 'VSERVER_METRICS_ENTITY', 'metric_id': 'l4_server.avg_bandwidth'})['s'][pool]
    assert servers[0]['header']['obj_id'].startswith('127.') and servers[0]['header']['pool_uuid'] == pool, servers
    engines = collect({'se_uuid': '*', 'metric_entity': 'SE_METRICS_ENTITY', 'metric_id': 'se_stats.avg_connections', 'step': 300,
                       'limit': 1})
    assert len(engines) == 1, engines
    # an exporter asks for each metric of each pool by itself
    many = [dict(every, entity_uuid=pool, pool_uuid=pool, metric_id='l4_server.avg_uptime')] * 150
    assert len(collect(*many)[pool]) == 150


def ids_are_listed():
    listed = {m['name']: m['entity_types'] for m in session().get('analytics/metric_id').json()['results']}
    assert 'virtualservice' in listed['l4_client.avg_bandwidth'] and 'pool' in listed['l4_server.avg_bandwidth']
    assert 'serviceengine' in listed['se_stats.avg_cpu_usage'] and 'cluster' in listed['controller_stats.avg_cpu_usage']
    assert 'virtualservice' in listed['dns_client.avg_udp_queries']


def inventories_are_read():
    a = session('*')
    services = a.get('virtualservice-inventory', params={'page_size': 200, 'include_name': 'true',
                                                         'include': 'runtime,health_score'}).json()
    assert services['count'] == 2 and 'next' not in services, services
    web = next(s for s in services['results'] if s['config']['name'] == 'web')
    assert web['runtime']['oper_status']['state'] == 'OPER_UP' and web['runtime']['vip_summary'][0]['num_se_assigned'] == 1, web
    assert 0 < web['health_score']['health_score'] <= 100 and web['config']['vip'][0]['ip_address']['addr'], web
    pool = a.get('pool-inventory', params={'name': 'web'}).json()['results'][0]
    assert pool['runtime']['num_servers_up'] == 1 and pool['virtualservices'][0]['uuid'] == web['uuid'], pool
    detail = a.get('pool/%s/runtime/server/detail/' % pool['uuid'], params={'page': 1, 'page_size': 200}).json()
    assert detail['results'][0]['oper_status']['state'] == 'OPER_UP', detail
    engine = a.get('serviceengine-inventory').json()['results'][0]
    assert engine['runtime']['se_connected'] is True and engine['config']['name'] == 'engine-1', engine
    for kind in ('vsvip', 'poolgroup', 'gslbservice', 'serviceenginegroup', 'cloud', 'network'):
        a.get(kind + '-inventory', params={'page': 1, 'page_size': 200})


def fetched(a, **params):
    """All records, page by page, as scripts that fetch logs do."""
    url, records = 'analytics/logs', []
    while True:
        answer = a.get(url, params=params).json()
        records += answer['results']
        assert answer['percent_remaining'] == 0, answer
        if 'next' not in answer:
            return answer['count'], records
        params['page'] = params.get('page', 1) + 1


def logs_are_fetched_page_by_page():
    a = session()
    a.post('pool', data={'name': 'late'})
    now = datetime.datetime.now(datetime.timezone.utc)
    times = {'start': (now - datetime.timedelta(hours=1)).strftime('%Y-%m-%dT%H:%M:%S.%fZ'),
             'end': (now + datetime.timedelta(minutes=1)).strftime('%Y-%m-%dT%H:%M:%S.%fZ')}
    base = dict(times, type=2, page_size=3, orderby='report_timestamp', js_compat='true', timeout=5, udf='True', nf='True')
    count, records = fetched(a, **base)
    assert count == len(records) > 3, (count, records)
    stamps = [r['report_timestamp'] for r in records]
    assert stamps == sorted(stamps), stamps
    whole, same = fetched(a, **dict(base, page_size=10000))
    assert whole == count and same == records
    kinds = {r['event_id'] for r in records}
    some, found = fetched(a, **dict(base, filter='eq(event_id,%s)' % sorted(kinds)[0]))
    assert 0 < some < count and {r['event_id'] for r in found} == {sorted(kinds)[0]}, (some, found)
    none, _ = fetched(a, **dict(base, filter='co(all,"no such text")'))
    assert none == 0
    groups = a.get('analytics/logs', params=dict(times, type=2, groupby='event_id', orderby='-count')).json()['results']
    assert sum(g['count'] for g in groups) >= count, groups
    steps = a.get('analytics/logs', params=dict(times, type=2, step=60)).json()['results']
    assert sum(s['value'] for s in steps) >= count, steps
    try:
        answer = a.get('analytics/logs', params={'type': 2, 'filter': 'like(all,x)'})
    except APIError as error:
        answer = error.rsp
    assert answer.status_code == 400, answer.text


def records_of_requests_are_fetched():
    a = session()
    for attempt in range(60):  # engines send records each second
        base = dict(type=1, virtualservice='web', duration=3600, page_size=2, js_compat='true', orderby='-report_timestamp',
                    filter='ge(response_code,400)', adf='True', udf='False', nf='False')
        count, records = fetched(a, **base)
        if count >= 5:
            break
        time.sleep(1)
    assert count == len(records) >= 5, (count, records)
    record = records[0]
    assert record['response_code'] == 404 and record['method'] == 'GET' and record['uri_path'].startswith('/missing'), record
    assert record['significant_log'] == ['ADF_RESPONSE_CODE_4XX'] and record['adf'] is True, record
    assert record['vs_name'] == 'web' if 'vs_name' in record else record['pool_name'] == 'web', record
    web = a.get_object_by_name('virtualservice', 'web')
    assert fetched(a, **dict(base, virtualservice=web['uuid'], page_size=10000)) == (count, records)
    groups = a.get('analytics/logs', params=dict(base, page_size=100, groupby='uri_path', cols='avg(total_time)', orderby='-count')).json()
    assert sum(g['count'] for g in groups['results']) == count and 'avg(total_time)' in groups['results'][0], groups
    one = fetched(a, **dict(base, filter=['eq(uri_path,%s)' % record['uri_path'], 'sw(client_ip,127.)']))[1]
    assert [r['request_id'] for r in one] == [r['request_id'] for r in records if r['uri_path'] == record['uri_path']], one
    table = a.get('analytics/logs', params=dict(base, format='csv'))
    assert table.text.count('\n') >= 3 and 'uri_path' in table.text.splitlines()[0], table.text


for step in (metrics_are_read_by_name, health_scores_are_read, collections_go_by_id_or_object, ids_are_listed,
             inventories_are_read, logs_are_fetched_page_by_page, records_of_requests_are_fetched):
    print(step.__name__.replace('_', ' '), flush=True)
    step()
