import about from '../../package.json' with { type: 'json' };

/** The version of Belfry that runs. */
export const VERSION: string = about.version;
