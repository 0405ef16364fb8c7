import { type ComponentChild, h } from 'preact'
import type { Explanation, Parts, Result } from './search-types.ts'

/** Returns the parts of a score. They add up to the score and are drawn as segments of one bar. */
function partsOf({ fusion, keyword, vector }: Explanation): Parts {
  return fusion ?? keyword ?? vector ?? {}
}

const shown = (value: number): string => (Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2))

/** Shows a score. Its bar is as long as the score is in relation to the best one. */
export function ScoreBar({ result, best }: { readonly result: Result; readonly best: number }): ComponentChild {
  const parts = Object.entries(partsOf(result.explanation ?? {})).filter(([, value]) => value > 0)
  const sum = parts.reduce((total, [, value]) => total + value, 0)
  const length = best > 0 ? Math.max(0.04, Math.min(1, result.score / best)) : 1
  return h(
    'details',
    { class: 'score' },
    h(
      'summary',
      { title: 'What the score is made of' },
      h(
        'span',
        { class: 'score-bar', 'aria-hidden': 'true' },
        parts.map(([name, value], i) =>
          h('span', { key: name, class: `piece piece-${i % 5}`, style: { width: `${(value / sum) * length * 100}%` } }),
        ),
      ),
      h('span', { class: 'score-value' }, h('span', { class: 'hidden-label' }, 'Score '), shown(result.score)),
    ),
    h(
      'ul',
      { class: 'score-parts' },
      parts.map(([name, value], i) =>
        h(
          'li',
          { key: name },
          h('span', { class: `dot piece-${i % 5}`, 'aria-hidden': 'true' }),
          `${name} ${shown(value)}`,
        ),
      ),
      Object.entries(result.explanation?.rerank ?? {})
        .filter(([name, value]) => name !== 'fused' && value > 0)
        .map(([name, value]) => h('li', { key: `rerank-${name}` }, `${name} +${shown(value)}`)),
    ),
  )
}
