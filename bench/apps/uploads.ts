import { createApp, defineResource, disk, f } from '../../src/index.ts';

const film = defineResource('film', {
  fields: { video: f.file({ maxBytes: 8 * 2 ** 30 }) },
  policies: { create: 'public' },
});

/** An app that takes uploads and keeps them in the directory of the variable `FILES`. */
export function createUploadsApp(variables: Record<string, string | undefined>) {
  return createApp(
    {
      resources: [film],
      settings: {
        files: {
          storage: disk({ directory: variables.FILES! }),
          maxPendingPerUser: 10_000,
          maxPendingBytesPerUser: Number.MAX_SAFE_INTEGER,
        },
        rateLimit: { enabled: false },
      },
    },
    variables,
  );
}
