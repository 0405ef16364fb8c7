/** The numbers of the analysis API, used by schemas, descriptions and checks alike. */
export const analysisLimits = {
  retentionDaysDefault: 30,
  retentionDaysMax: 365,
  /** How long an expired run can still be read. */
  expiredDays: 30,
  intervalSecondsMin: 60,
  intervalSecondsMax: 366 * 86_400,
  nameCharactersMax: 200,
  listValuesMax: 200,
  pageDefault: 50,
  pageMax: 200,
} as const
