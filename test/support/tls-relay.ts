import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer } from 'node:tls'

/** The certificate authority to trust. It was created for these tests, and its private key was not kept. */
export const testAuthority = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUDFjgSrG8lVmlWvHySxdfNx5SdJowCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXVGlkZW1hcmsgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTE2MTk0
ODI3WhgPMjEyNjEwMjMxOTQ4MjdaMCIxIDAeBgNVBAMMF1RpZGVtYXJrIHRlc3Qg
YXV0aG9yaXR5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFTFJLdy5vWoRko+C
Wrl+IHG3B3qYGxUDLalouXn5OWUI969XroEzM+ZbObhXl4l9Rut+jp6vutgqdNlU
bllsC6NTMFEwHQYDVR0OBBYEFDkgRzqAtc0H4KTLF/ljrG/NtEmHMB8GA1UdIwQY
MBaAFDkgRzqAtc0H4KTLF/ljrG/NtEmHMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDRwAwRAIgG8t57gjzAilStD+Qtt0ESOUdxAoXC7/GkWkkUB551VsCIGk0
p0xbcTlV6XbfE5fUQ5GtnNtrWk5aOqpHHADc7Ne2
-----END CERTIFICATE-----
`

/** Valid for 127.0.0.1, and for no host name. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBojCCAUmgAwIBAgIUSBGdxstN7l9uRkkliHS3XUe2RngwCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXVGlkZW1hcmsgdGVzdCBhdXRob3JpdHkwIBcNMjYxMTE2MTk0
ODI3WhgPMjEyNjEwMjMxOTQ4MjdaMB8xHTAbBgNVBAMMFFRpZGVtYXJrIHRlc3Qg
c2VydmVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEy7w6HVB1cx4brlB8i8tE
m9Gp+N32bMRec36AQgqTUTyCAJzaLiSB1H6SbJze5338UhwUI5L5fzxfQJbzSO79
saNeMFwwDwYDVR0RBAgwBocEfwAAATAJBgNVHRMEAjAAMB0GA1UdDgQWBBRaY+cU
gjPOrfBeR/LPVqggG/kVRzAfBgNVHSMEGDAWgBQ5IEc6gLXNB+Ckyxf5Y6xvzbRJ
hzAKBggqhkjOPQQDAgNHADBEAiBPsC041wzytI33uqL5LSuRIE5VAZuuwnm2wX9C
ktUGhAIgZlzA7TKuST3j6GE38mgRMUo1+FEf83Mqz6y0qE9YrNI=
-----END CERTIFICATE-----
`
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq+aVV+jdGXJ+qSns
EV/yDCQuBGPrcgG6CrFKvfGxfiihRANCAATLvDodUHVzHhuuUHyLy0Sb0an43fZs
xF5zfoBCCpNRPIIAnNouJIHUfpJsnN7nffxSHBQjkvl/PF9AlvNI7v2x
-----END PRIVATE KEY-----
`

/** A TLS proxy to a server on this machine that does not speak TLS. */
export class TlsRelay {
  /** The `authorization` headers of the requests. */
  readonly credentials: string[] = []
  readonly #server = createServer({ cert: certificate, key })

  static async to(port: number): Promise<TlsRelay> {
    const relay = new TlsRelay()
    relay.#server.on('secureConnection', (incoming) => {
      const outgoing = connect(port, '127.0.0.1')
      incoming.on('data', (part: Buffer) => {
        for (const [, sent] of part.toString('latin1').matchAll(/^authorization: (.*)\r$/gim))
          relay.credentials.push(sent!)
      })
      incoming.pipe(outgoing).pipe(incoming)
      incoming.on('error', () => outgoing.destroy()).on('close', () => outgoing.destroy())
      outgoing.on('error', () => incoming.destroy()).on('close', () => incoming.destroy())
      outgoing.unref()
    })
    // A client that does not trust the certificate closes the connection.
    relay.#server.on('tlsClientError', () => {})
    relay.#server.on('connection', (socket) => socket.unref())
    relay.#server.listen(0, '127.0.0.1').unref()
    await once(relay.#server, 'listening')
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }
}
