import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'

/** Servers of good and bad feeds, on free ports of this machine. */
export interface Item {
  readonly id: string
  readonly title?: string
  readonly body?: string
}

const rss = (items: readonly Item[], extra = ''): string =>
  `<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title>${extra}${items
    .map(
      ({ id, title = `Entry ${id}`, body = `Text of ${id}` }) =>
        `<item><guid isPermaLink="false">${id}</guid><title>${title}</title><description>${body}</description></item>`,
    )
    .join('')}</channel></rss>`

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export class FeedServer {
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly at: number }[] = []
  robots: string | null = null
  readonly #server: Server
  readonly #handlers = new Map<string, Handler>()
  address = ''

  constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url!
      this.requests.push({ path, headers: request.headers, at: performance.now() })
      response.on('error', () => {})
      const handler = this.#handlers.get(path)
      if (path === '/robots.txt' && this.robots !== null) response.end(this.robots)
      else if (handler === undefined) response.writeHead(404).end()
      else handler(request, response)
    })
  }

  async start(host = '127.0.0.1'): Promise<this> {
    this.#server.listen(0, host)
    await once(this.#server, 'listening')
    this.#server.unref()
    this.address = `http://${host}:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  on(path: string, handler: Handler): string {
    this.#handlers.set(path, handler)
    return this.address + path
  }

  /** A feed that is always available. Calling it again replaces its content. */
  feed(path: string, items: readonly Item[]): string {
    return this.on(path, (_, response) => response.setHeader('content-type', 'application/rss+xml').end(rss(items)))
  }

  asked(path: string): number {
    return this.requests.filter((request) => request.path === path).length
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** Every kind of broken or hostile feed, with the expected message. */
export function nastyFeeds(server: FeedServer): Record<string, { url: string; expected: RegExp }> {
  const on = (path: string, handler: Handler, expected: RegExp) => ({ url: server.on(path, handler), expected })
  const body = (text: string | Buffer, headers: Record<string, string> = {}): Handler => {
    return (_, response) => response.writeHead(200, { 'content-type': 'text/xml', ...headers }).end(text)
  }
  const redirect = (location: string): Handler => {
    return (_, response) => response.writeHead(302, { location }).end()
  }
  const chunk = Buffer.alloc(65_536, 'x')
  return {
    slow: on('/slow', (_, response) => void response.writeHead(200).write('<rss'), /refused \(time\)/),
    silent: on('/silent', () => {}, /refused \(time\)/),
    broken: on('/broken', body('<rss version="2.0"><channel><item><title>cut off'), /entries|refused \(format\)/),
    html: on('/html', body('<html><body>Not here</body></html>'), /refused \(format\)/),
    empty: on('/empty', body(''), /refused \(format\)/),
    bomb: on('/bomb', body(gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }), /refused \(size\)/),
    notGzip: on('/not-gzip', body('plain', { 'content-encoding': 'gzip' }), /refused \(encoding\)/),
    strange: on('/strange', body('x', { 'content-encoding': 'rot13' }), /refused \(encoding\)/),
    huge: on('/huge', body(Buffer.alloc(3_000_000, 'x')), /refused \(size\)/),
    endless: on(
      '/endless',
      (_, response) => {
        response.writeHead(200)
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
        }
        response.on('drain', more)
        more()
      },
      /refused \(size\)/,
    ),
    loop: on('/loop', redirect('/loop'), /refused \(redirects\)/),
    inner: on('/inner', redirect('http://127.0.0.2:9/metadata'), /refused \(address\)/),
    linkLocal: on('/link-local', redirect('http://169.254.169.254/latest/meta-data/'), /refused \(address\)/),
    mapped: on('/mapped', redirect('http://[::ffff:127.0.0.9]/'), /refused \(address\)/),
    file: on('/file', redirect('file:///etc/passwd'), /refused \(scheme\)/),
    hangUp: on('/hang-up', (request) => request.socket.destroy(), /refused \(network\)/),
    half: on(
      '/half',
      (request, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write(rss([{ id: 'half' }]).slice(0, 50))
        setTimeout(() => request.socket.destroy(), 50)
      },
      /refused \(network\)/,
    ),
    gone: on('/gone', (_, response) => response.writeHead(410).end(), /refused \(status\).*410/),
    laughs: on(
      '/laughs',
      body(
        `<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "ha">${Array.from({ length: 20 }, (_, i) => `<!ENTITY ${String.fromCharCode(98 + i)} "${`&${String.fromCharCode(97 + i)};`.repeat(10)}">`).join('')}]><rss version="2.0"><channel><item><title>&u;</title></item></channel></rss>`,
      ),
      /entries|refused \(format\)/,
    ),
    disallowed: { url: server.feed('/secret/feed', [{ id: 'secret' }]), expected: /refused \(robots\)/ },
  }
}

/** Unusual but valid feeds. */
export function oddFeeds(server: FeedServer): Record<string, string> {
  const body = (text: string | Buffer, headers: Record<string, string> = {}): Handler => {
    return (_, response) => response.writeHead(200, headers).end(text)
  }
  const accented = (encoding: string) =>
    rss([{ id: `cafe-${encoding}`, title: 'Café' }]).replace('?>', ` encoding="${encoding}"?>`)
  server.feed('/target', [{ id: 'moved' }])
  return {
    plain: server.feed('/plain', [{ id: 'plain-1' }, { id: 'plain-2' }]),
    gzip: server.on('/gzip', body(gzipSync(rss([{ id: 'gzip' }])), { 'content-encoding': 'gzip' })),
    brotli: server.on('/brotli', body(brotliCompressSync(rss([{ id: 'brotli' }])), { 'content-encoding': 'br' })),
    latin1: server.on('/latin1', body(Buffer.from(accented('iso-8859-1'), 'latin1'))),
    wrongCharset: server.on(
      '/wrong-charset',
      body(Buffer.from(accented('utf-8'), 'latin1'), { 'content-type': 'text/xml; charset=utf-8' }),
    ),
    redirecting: server.on('/redirecting', (_, response) => response.writeHead(301, { location: '/target' }).end()),
    json: server.on(
      '/json',
      body(
        JSON.stringify({
          version: 'https://jsonfeed.org/version/1.1',
          title: 'J',
          items: [{ id: 'json', content_text: 'Text' }],
        }),
      ),
    ),
  }
}
