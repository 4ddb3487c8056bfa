'use client';
import type { MutationOptions, QueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ApiError } from '../client/errors.ts';
import { originOf } from '../client/origin.ts';
import type { WriteOptions } from '../client/records/resource.ts';
import type { IfMatch } from '../client/records/versions.ts';
import type { ClientRecord } from '../client/schema/record.ts';
import type { Member } from '../client/schema/schema.ts';
