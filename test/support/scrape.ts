/** The metrics of a process at `/metrics`. */
export interface Scrape {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>
  /** The value of each sample, by name and labels as they are written. */
  readonly samples: ReadonlyMap<string, number>
}

export function readScrape(text: string): Scrape {
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line)
    if (type !== null) types.set(type[1]!, type[2]!)
    const sample = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line)
    if (sample !== null) samples.set(sample[1]!, Number(sample[2]))
  }
  return { types, samples }
}

/** Returns the name of a sample's metric, without labels and without the suffixes of a histogram. */
export const seriesName = (sample: string): string =>
  sample.replace(/\{.*/, '').replace(/(?<=_(?:seconds|events))_(?:bucket|sum|count)$/, '')

export const labelsOf = (sample: string): string[] =>
  [...sample.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!).filter((label) => label !== 'le')
