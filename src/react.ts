// The former name of `@belfry/client/react`, until the next release.
export * from '@belfry/client/react';
