import type { Fields } from './field.ts';
import type { CreateInput, RecordOf, UpdateInput } from './infer.ts';
import type { RecordService } from './service.ts';

/** The records of one resource, for code. Every method throws `ApiError` as the HTTP route would answer. */
export type Service<F extends Fields> = RecordService<CreateInput<F>, UpdateInput<F>, RecordOf<F>>;
