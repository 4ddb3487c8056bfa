import { afterAll, expect, test } from 'vitest';
import { s3 } from '../../../../../src/platform/data/storage/s3/index.ts';
import { startFakeS3 } from '../../../../fakes/s3/index.ts';
import { testFileStorage } from '../contract.ts';

// Small pages, so that every list has several.
const fake = await startFakeS3({ pageSize: 2 });
afterAll(() => fake.close());

const open = (prefix?: string) =>
  s3(
    {
      bucket: fake.bucketName,
      region: fake.key.region,
      endpoint: fake.endpoint,
      ...(prefix !== undefined && { prefix }),
    },
    { AWS_ACCESS_KEY_ID: fake.key.accessKeyId, AWS_SECRET_ACCESS_KEY: fake.key.secretAccessKey },
  );

testFileStorage('s3', () => open());
testFileStorage('s3 with a prefix', () => open('Production/eu-1/'));

test('no upload and no piece of an upload remains in the bucket', () => {
  expect(fake.bucket.uploads.size).toBe(0);
  expect(fake.calls.filter(({ query }) => query.uploads !== undefined).length).toBeGreaterThan(5);
});
