import { audit, createApp, defineResource, defineUser, f, privacy, webhooks } from '../../src/index.ts';

const post = defineResource('post', {
  fields: { title: f.string().required().max(200), body: f.text().max(20_000), author: f.ref('user').owner() },
  policies: { list: 'authenticated', read: 'authenticated' },
});

/** The app whose accounts are erased. Everybody may read all posts, so endpoints of other users get events about them. */
export function createErasureApp(environment: Record<string, string | undefined>) {
  const settings = { rateLimit: { enabled: false } };
  const extensions = [webhooks({ allowPrivate: true, requireHttps: false, notifyOwner: false }), audit(), privacy()];
  return createApp({ resources: [defineUser(), post], extensions, settings }, environment);
}
