"""What people do with the Python SDK, against the controller at WEIR_HOST:WEIR_PORT. Ends with 1 at the first surprise."""
import base64
import os

from avi.sdk.avi_api import APIError, ApiSession

HOST, PORT, PASSWORD = os.environ['WEIR_HOST'], int(os.environ['WEIR_PORT']), os.environ['WEIR_PASSWORD']


def session(**how):
    how = {'username': 'admin', 'password': PASSWORD, 'tenant': 'admin', **how}
    return ApiSession('https://' + HOST, port=PORT, api_version='30.2.1', verify=False, **how)


def refused(status, call):
    try:
        reply = call()
    except APIError as error:
        reply = error.rsp
    assert reply.status_code == status, (reply.status_code, reply.text)
    return reply.text


def objects_are_made_changed_and_deleted():
    a = session()
    p = a.post('pool', data={'name': 'p', 'servers': [{'ip': {'addr': '10.0.0.1', 'type': 'V4'}}]}).json()
    assert a.get_object_by_name('pool', 'p')['uuid'] == p['uuid'] and p['inline_health_monitor'] is True
    a.patch('pool/' + p['uuid'], data={'add': {'servers': [{'ip': {'addr': '10.0.0.2', 'type': 'V4'}}]}})
    assert len(a.get('pool/' + p['uuid']).json()['servers']) == 2
    assert 'Need to reload' in refused(412, lambda: a.put('pool/' + p['uuid'], data=dict(p, description='x')))
    a.post('pool', data={'name': 'q'})
    assert sum(1 for _ in a.get_objects_iter('pool', params={'page_size': 1})) == a.get('pool').json()['count'] == 2
    fresh = a.get_object_by_name('pool', 'p')
    fresh['description'] = 'y'
    assert a.put_by_name('pool', 'p', data=fresh).json()['description'] == 'y'
    for name in ('p', 'q'):
        assert a.delete_by_name('pool', name).status_code == 204
    assert a.get_object_by_name('pool', 'p') is None
    refused(404, lambda: a.get('pool/' + p['uuid']))
    refused(404, lambda: a.delete('pool/' + p['uuid']))


def a_virtual_service_is_built_and_taken_down():
    a = session()
    ref = a.get_obj_ref
    pool = a.post('pool', data={'name': 'vs-pool', 'health_monitor_refs': ['/api/healthmonitor?name=System-HTTP'],
                                'lb_algorithm': 'LB_ALGORITHM_ROUND_ROBIN',
                                'servers': [{'ip': {'addr': '10.0.0.1', 'type': 'V4'}, 'port': '8080'}]}).json()
    vip = a.post('vsvip', data={'name': 'vip', 'vip': [{'vip_id': '1', 'ip_address': {'addr': '10.1.0.1', 'type': 'V4'}}]}).json()
    vs = a.post('virtualservice', data={
        'name': 'vs', 'services': [{'port': 443, 'enable_ssl': True}, {'port': 80}], 'vsvip_ref': ref(vip),
        'pool_ref': ref(pool), 'application_profile_ref': '/api/applicationprofile?name=System-Secure-HTTP',
        'ssl_key_and_certificate_refs': ['/api/sslkeyandcertificate?name=System-Default-Cert-EC'],
        'ssl_profile_ref': '/api/sslprofile?name=System-Standard'}).json()
    assert vs['pool_ref'].endswith('#vs-pool') and vs['services'][0]['port_range_end'] == 443
    assert pool['servers'][0]['port'] == 8080 and pool['servers'][0]['hostname'] == '10.0.0.1'
    read = a.get('virtualservice/%s/runtime' % vs['uuid']).json()
    assert 'oper_status' in read, read
    assert a.get('pool/%s/runtime/server' % pool['uuid']).json()['count'] == 1
    assert 'VirtualService vs' in refused(412, lambda: a.delete('pool/' + pool['uuid']))
    for kind, made in (('virtualservice', vs), ('pool', pool), ('vsvip', vip)):
        assert a.delete(kind + '/' + made['uuid']).status_code == 204


def what_weir_does_not_act_on_comes_back_and_closes():
    a = session()
    vip = a.post('vsvip', data={'name': 'vip', 'vip': [{'vip_id': '1', 'ip_address': {'addr': '10.1.0.2', 'type': 'V4'}}]}).json()
    guards = {'security_policy_ref': '/api/securitypolicy?name=ours',
              'dns_policies': [{'index': 11, 'dns_policy_ref': '/api/dnspolicy?name=ours'}]}
    vs = a.post('virtualservice', data={'name': 'vs', 'services': [{'port': 80}], 'vsvip_ref': a.get_obj_ref(vip), **guards}).json()
    said = ['security_policy_ref', 'dns_policies']
    assert sorted(w['field'] for w in vs['weir_warnings']) == sorted(said), vs['weir_warnings']
    read = a.get_object_by_name('virtualservice', 'vs')
    assert all(read[name] == value for name, value in guards.items()), read
    again = a.put_by_name('virtualservice', 'vs', data=dict(read, description='changed')).json()
    assert all(again[name] == value for name, value in guards.items()), again
    patched = a.patch('virtualservice/' + vs['uuid'], data={'delete': {'security_policy_ref': ''}}).json()
    assert 'security_policy_ref' not in patched and patched['dns_policies'] == guards['dns_policies'], patched
    for kind, made in (('virtualservice', vs), ('vsvip', vip)):
        assert a.delete(kind + '/' + made['uuid']).status_code == 204


def tenants_hide_their_objects():
    a = session()
    tenant = a.post('tenant', data={'name': 'blue'}).json()
    a.post('pool', data={'name': 'p'}, tenant='blue')
    assert a.get('pool', params={'name': 'p'}).json()['count'] == 0
    assert a.get('pool', params={'name': 'p'}, tenant_uuid=tenant['uuid']).json()['count'] == 1
    assert a.delete_by_name('pool', 'p', tenant='blue').status_code == 204
    assert a.delete('tenant/' + tenant['uuid']).status_code == 204
    assert "does not exist" in refused(403, lambda: a.get('pool', tenant='blue'))


def the_client_may_choose_the_uuid():
    a = session()
    made = a.post('pool', data={'name': 'forced'}, headers={'Slug': 'pool-force-42'}).json()
    assert made['uuid'] == 'pool-force-42'
    assert a.delete('pool/pool-force-42').status_code == 204


def sessions_are_opened_again():
    a = session()
    assert a.post('logout').status_code == 200
    assert a.get('pool').status_code == 200
    assert 'CSRF token' in refused(401, lambda: a.post('pool', data={'name': 'p'}, headers={'X-CSRFToken': 'wrong'}))
    assert a.get('pool').json()['count'] == 0


def a_token_logs_in():
    token = session().post('user-token', data={'hours': '2'}).json()['token']
    ApiSession.clear_cached_sessions()
    assert session(password=None, token=token).get('pool').status_code == 200


def wrong_passwords_are_refused():
    try:
        session(password='wrong')
    except APIError as error:
        assert 'Invalid credentials' in str(error)
    else:
        raise AssertionError('a wrong password opened a session')


def the_account_changes_its_password():
    a = session()
    a.post('user', data={'name': 'eve', 'username': 'eve', 'password': 'the first password', 'is_superuser': True})
    eve = session(username='eve', password='the first password')
    changed = eve.put('useraccount', data={'username': 'eve', 'old_password': 'the first password', 'password': 'the second one'})
    assert changed.status_code == 200
    ApiSession.clear_cached_sessions()
    assert session(username='eve', password='the second one').get('user').json()['count'] == 2


def the_system_is_described():
    a = session()
    assert a.get('cluster/runtime').json()['cluster_state']['state'].startswith('CLUSTER_UP')
    assert a.get('cluster/version').json()['Version'] == '30.2.1'
    config = a.get('systemconfiguration').json()
    assert a.put('systemconfiguration', data=config).status_code == 200
    assert a.get('initial-data').json()['version']['Version'] == '30.2.1'


def basic_authentication_is_a_switch():
    a = session()
    a.patch('systemconfiguration', data={'replace': {'portal_configuration': {'allow_basic_authentication': True}}})
    basic = 'Basic ' + base64.b64encode(('admin:' + PASSWORD).encode()).decode()
    ApiSession.clear_cached_sessions()
    b = ApiSession('https://' + HOST, username='admin', password=PASSWORD, port=PORT, verify=False, api_version='30.2.1',
                   lazy_authentication=True, user_hdrs={'Authorization': basic})
    assert b.get('pool').status_code == 200


for step in (objects_are_made_changed_and_deleted, a_virtual_service_is_built_and_taken_down,
             what_weir_does_not_act_on_comes_back_and_closes, tenants_hide_their_objects,
             the_client_may_choose_the_uuid, sessions_are_opened_again, a_token_logs_in, wrong_passwords_are_refused,
             the_account_changes_its_password, the_system_is_described, basic_authentication_is_a_switch):
    ApiSession.clear_cached_sessions()
    print(step.__name__.replace('_', ' '), flush=True)
    step()
