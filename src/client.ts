// The former name of `@belfry/client`, until the next release.
export * from '@belfry/client';
