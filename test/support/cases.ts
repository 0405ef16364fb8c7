/**
 * Returns how many random cases a test runs, of `all` in a full run. TEST_CASES is the share in per cent: `npm test`
 * sets 20, `npm run test:all` 100, and 1000 is a long run. `least` is the number that a test needs to cover every case
 * that it asserts.
 */
export const casesOf = (all: number, least = 1): number =>
  Math.max(least, Math.ceil((all * Number(process.env.TEST_CASES ?? 100)) / 100))
