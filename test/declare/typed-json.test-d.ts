// Checked only by the compiler: the types of json fields are those of their schemas.
import { z } from 'zod';
import { type CreateInput, defineResource, f, type RecordOf, type Services } from '../../src/index.ts';

const fields = {
  settings: f
    .json(z.strictObject({ theme: z.enum(['dark', 'light']), size: z.number().default(1) }))
    .required()
    .check((value) => value.size > 0),
  at: f.json(z.object({ iso: z.string() }).transform(({ iso }) => [iso])),
  any: f.json(),
};
const page = defineResource('page', {
  fields,
  hooks: {
    beforeCreate: (values) => {
      values.settings.theme satisfies 'dark' | 'light';
      values.settings.size satisfies number;
    },
  },
});
declare const service: Services;
declare const record: RecordOf<typeof fields>;

record.settings satisfies { theme: 'dark' | 'light'; size: number };
record.at satisfies string[] | undefined;
record.any satisfies unknown;
({ settings: { theme: 'dark' }, at: { iso: 'x' } }) satisfies CreateInput<typeof fields>;

service(page).create({ settings: { theme: 'light' } });
// @ts-expect-error an unknown theme
service(page).create({ settings: { theme: 'blue' } });
// @ts-expect-error the input of the schema is an object
service(page).create({ settings: { theme: 'dark' }, at: ['x'] });
// @ts-expect-error an unknown member
record.settings.colour;
