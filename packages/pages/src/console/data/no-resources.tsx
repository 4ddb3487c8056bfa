import { Code } from '../../kit/copy.tsx';
import { texts } from '../texts.ts';

const DECLARATION = `import { createApp, defineResource, f } from 'belfry';

export const post = defineResource('post', {
  fields: { title: f.string().required().searchable() },
  policies: { list: 'public', read: 'public', create: 'user' },
});

export const app = createApp({ resources: [user, post] }, process.env);`;

/** How to declare the first resource, in an app that has none besides its users. */
export function FirstDeclaration() {
  return (
    <>
      <p class="intro">{texts.data.noResources.intro}</p>
      <Code text={DECLARATION} label={texts.data.noResources.code} />
    </>
  );
}
