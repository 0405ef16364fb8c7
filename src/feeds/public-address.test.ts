import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedNetworks, isPublicAddress } from './public-address.ts'

test('public addresses are public', () => {
  for (const address of [
    '1.1.1.1',
    '93.184.216.34',
    '172.15.255.255',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ]) {
    assert.ok(isPublicAddress(address), address)
  }
})

test('private, loopback, link-local and reserved addresses, and those that embed an IPv4 address, are not', () => {
  const inner = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2001:0:1::',
    'localhost',
    '',
    '1.2.3',
    '0x7f.1',
  ]
  for (const address of inner) assert.ok(!isPublicAddress(address), address)
})

test('listed addresses and networks are allowed, and nothing else', () => {
  const allowed = allowedNetworks(['127.0.0.1', '10.1.0.0/16', 'fd00::/8'])!
  for (const address of ['127.0.0.1', '10.1.255.1', 'fd12::1']) assert.ok(allowed(address), address)
  for (const address of ['127.0.0.2', '10.2.0.1', 'fc00::1', '::1']) assert.ok(!allowed(address), address)
  for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.0/x', '']) assert.equal(allowedNetworks([wrong]), null)
})
