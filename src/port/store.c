/* Batches, for every store: by its own means, or else at once by its write and read. */
#include "port/store.h"

#include "port/ranges.h"

static void transfer_all(struct cio_store *s, struct cio_batch *b)
{
    for (int i = 0; i < b->n && b->error == 0; i++)
        b->error = cio_store_transfer(s, b->write, &b->piece[i]);
    b->done = 1;
}

void cio_store_start(struct cio_store *s, struct cio_batch *b)
{
    b->error = 0;
    b->done = b->n == 0;
    if (b->done)
        return;
    if (s->ops->start != NULL)
        s->ops->start(s, b);
    else
        transfer_all(s, b);
}

int cio_store_test(struct cio_store *s, struct cio_batch *b)
{
    return b->done || s->ops->test(s, b);
}

void cio_store_wait(struct cio_store *s, struct cio_batch *b)
{
    if (!b->done)
        s->ops->wait(s, b);
}

int cio_store_holding(void)
{
    return cio_range_holding();
}

const uint32_t *cio_store_word(struct cio_store *s)
{
    return s->ops->word != NULL ? s->ops->word(s) : NULL;
}

int cio_store_depth(const struct cio_store *s)
{
    return s->ops->depth != NULL ? s->ops->depth(s) : 1;
}

const char *cio_store_name(const struct cio_store *s)
{
    return s->ops->name != NULL ? s->ops->name(s) : "blocking";
}
