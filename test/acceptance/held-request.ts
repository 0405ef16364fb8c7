import assert from 'node:assert/strict'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { adminToken, type TestServer } from './harness.ts'

/**
 * A request that the server works on for as long as the test likes: its headers have arrived (the server answers "100
 * Continue"), and its body follows when `finish` is called.
 */
export class HeldRequest {
  #request: ClientRequest
  #answer: Promise<{ status: number; connection: string | undefined }>

  private constructor(sent: ClientRequest) {
    this.#request = sent
    this.#answer = new Promise((resolve, reject) => {
      sent.once('error', reject)
      sent.once('response', (response: IncomingMessage) => {
        response.resume()
        const { connection } = response.headers
        response.once('end', () => resolve({ status: response.statusCode!, connection }))
      })
    })
    // A test that never reads the answer does not need its failure either.
    this.#answer.catch(() => {})
  }

  static async start(server: TestServer, name: string): Promise<HeldRequest> {
    const body = JSON.stringify({ name })
    const sent = request(new URL(`/admin/v1/datasets/${name}`, server.address), {
      method: 'PUT',
      agent: new Agent({ keepAlive: true }),
      headers: {
        authorization: `Bearer ${adminToken}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
      },
    })
    const held = new HeldRequest(sent)
    held.finish = () => {
      sent.end(body)
      return held.#answer
    }
    sent.flushHeaders()
    await new Promise<void>((resolve, reject) => {
      sent.once('continue', resolve)
      sent.once('error', reject)
      sent.once('response', (response) =>
        reject(new assert.AssertionError({ message: `answered ${response.statusCode}` })),
      )
    })
    return held
  }

  /** Sends the rest and returns the answer. */
  finish: () => Promise<{ status: number; connection: string | undefined }> = () => this.#answer

  /** The client closes the connection. */
  abandon(): void {
    this.#request.destroy()
  }
}
