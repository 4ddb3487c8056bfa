// For tabs of extensions outside of this repository.
export * from 'preact';
