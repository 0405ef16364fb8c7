import { Agent, request } from 'node:http'

/** A lean client: one connection for each that calls at the same time, kept open. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #address: URL
  readonly #credential: string

  constructor(address: string, credential: string) {
    this.#address = new URL(address)
    this.#credential = credential
  }

  /** The parsed answer; anything but 2xx is thrown. */
  async call(method: string, path: string, body?: unknown): Promise<ReturnType<typeof JSON.parse>> {
    const { status, text } = await this.send(method, path, body === undefined ? undefined : JSON.stringify(body))
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text}`)
    return JSON.parse(text)
  }

  send(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const headers: Record<string, string | number> = { authorization: `Bearer ${this.#credential}` }
    if (body !== undefined) {
      headers['content-type'] = 'application/json'
      headers['content-length'] = Buffer.byteLength(body)
    }
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#address
      const sent = request({ agent: this.#agent, hostname, port, method, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

export interface Times {
  /** Milliseconds, ascending. */
  readonly sorted: readonly number[]
  readonly perSecond: number
}

/**
 * Calls one after the other from as many callers as wanted, for that long. Half as long again warms up before: code that
 * has run a few hundred times is several times slower than the same code in a service that has been up for a minute.
 */
export async function measure(callers: number, forMs: number, call: (i: number) => Promise<void>): Promise<Times> {
  let number = 0
  for (const warmUntil = performance.now() + forMs / 2; performance.now() < warmUntil; ) await call(number++)
  const times: number[] = []
  const started = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() - started < forMs) {
      const at = performance.now()
      await call(number++)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const perSecond = times.length / ((performance.now() - started) / 1000)
  return { sorted: times.sort((a, b) => a - b), perSecond }
}

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const cells = ({ sorted, perSecond }: Times): string =>
  // The least is what a machine that others use too says of the work itself.
  [0, 0.5, 0.95, 0.99]
    .map((share) => quantile(sorted, share).toFixed(2).padStart(8))
    .concat(perSecond.toFixed(0).padStart(7))
    .join('')
