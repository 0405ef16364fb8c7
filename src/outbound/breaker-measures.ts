import type { Measures } from '../platform/measures.ts'
import { type BreakerState, breakerStates } from './circuit-breaker.ts'

/** Reports the state of the circuit breaker of each external server, by purpose. */
export function measureBreakers(measures: Measures, breakers: Readonly<Record<string, () => BreakerState>>): void {
  measures.gauge(
    {
      name: 'tidemark_breaker_state',
      help: '1 for the state that the circuit breaker of an external server is in, 0 for the others.',
      labels: ['server', 'state'],
    },
    () =>
      Object.entries(breakers).flatMap(([server, read]) => {
        const now = read()
        return breakerStates.map((state) => ({ labels: { server, state }, value: Number(state === now) }))
      }),
  )
}
