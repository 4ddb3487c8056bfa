// The app of the scale measurements, in its own process.
import { createScaleApp } from '../apps/scale.ts';
import { reportReady } from './child.ts';

const { url } = await createScaleApp(process.env).start({ port: 0, roles: ['web'] });
reportReady(url);
