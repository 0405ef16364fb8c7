/** The limits of the analysis API. */
export const analysisLimits = {
  retentionDaysDefault: 30,
  retentionDaysMax: 365,
  /** How long an expired run can still be read. */
  expiredDays: 30,
  /** How far an application's clock may be ahead of the server's. */
  clockAheadSecondsMax: 60,
  intervalSecondsMin: 60,
  intervalSecondsMax: 366 * 86_400,
  nameCharactersMax: 200,
  listValuesMax: 200,
  pageDefault: 50,
  pageMax: 200,
} as const
