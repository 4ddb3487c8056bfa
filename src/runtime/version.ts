import about from '../../package.json' with { type: 'json' };

/** The running version of Belfry. */
export const VERSION: string = about.version;
