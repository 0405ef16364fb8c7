import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Networks outside the public internet: private, loopback, link-local, shared, reserved, multicast. */
const notPublic = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv4')
}
/**
 * IPv6 addresses are only allocated from 2000::/3. Addresses within it that wrap an IPv4 address could lead anywhere.
 */
const allocated = new BlockList()
allocated.addSubnet('2000::', 3, 'ipv6')
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv6')
}

/** Whether an address is on the public internet. A text that is not an address is not. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublic.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  return allocated.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
}

/** Matches addresses and networks (10.1.0.0/16) that are allowed although not public; null if a text is neither. */
export function allowedNetworks(texts: readonly string[]): ((address: string) => boolean) | null {
  const allowed = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    const bits = family === 'ipv4' ? 32 : 128
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
    if ((!isIPv4(address) && !isIPv6(address)) || length < 0 || length > bits) return null
    allowed.addSubnet(address, length, family)
  }
  return (address) => allowed.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
