// The former name of `@belfry/verify-webhook`, until the next release.
export * from '@belfry/verify-webhook';
