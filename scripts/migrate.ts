// `npm run migrate`: applies the migrations that the database does not have yet. Several may run at once.
import { app } from '../src/app/index.ts';

try {
  const made = app();
  await made.migrate({ mode: 'apply' });
  await made.close();
  console.log('The database is up to date.');
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
