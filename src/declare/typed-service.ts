import type { Fields } from './field.ts';
import type { CreateBody, CreateInput, RecordOf, UpdateBody, UpdateInput } from './infer.ts';
import type { RecordService } from './service.ts';

/**
 * The records of one resource, for code. Every method throws `ApiError` as the HTTP route would answer. `T` is the resource's
 * option `timestamps`.
 */
export type Service<F extends Fields, T extends boolean = true> = RecordService<
  CreateInput<F>,
  UpdateInput<F>,
  RecordOf<F, T>,
  CreateBody<F>,
  UpdateBody<F>
>;
