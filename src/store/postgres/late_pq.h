/* store/postgres/late_pq: libpq, loaded when a PostgreSQL database is first named (late/late.h). Room: store/postgres,
 * inside. Included instead of <libpq-fe.h>. */
#ifndef TRILHA_STORE_POSTGRES_LATE_PQ_H
#define TRILHA_STORE_POSTGRES_LATE_PQ_H

#include <libpq-events.h>
#include <libpq-fe.h>

#include "late/late.h"

/* The formatter never comes to rest on a list in a macro. */
/* clang-format off */
#define TRILHA_LIBPQ(F) \
  F(PQbackendPID) F(PQcancel) F(PQclear) F(PQcmdStatus) F(PQconnectPoll) F(PQconnectStartParams) F(PQconninfo) \
  F(PQconninfoFree) F(PQconninfoParse) F(PQconsumeInput) F(PQenterPipelineMode) F(PQerrorMessage) F(PQexec) \
  F(PQexecParams) F(PQexitPipelineMode) F(PQfinish) F(PQflush) F(PQfname) F(PQfreeCancel) F(PQfreemem) \
  F(PQgetCancel) F(PQgetResult) F(PQgetisnull) F(PQgetlength) F(PQgetvalue) F(PQhost) F(PQinstanceData) \
  F(PQisBusy) F(PQisnonblocking) F(PQnfields) F(PQnotifies) F(PQntuples) F(PQpipelineStatus) F(PQpipelineSync) \
  F(PQregisterEventProc) F(PQresultErrorField) F(PQresultStatus) F(PQsendPrepare) F(PQsendQuery) \
  F(PQsendQueryParams) F(PQsendQueryPrepared) F(PQsetInstanceData) F(PQsetNoticeReceiver) F(PQsetnonblocking) \
  F(PQsocket) F(PQstatus) F(PQtransactionStatus)
/* clang-format on */

typedef struct trilha_libpq {
  TRILHA_LIBPQ(TRILHA_LATE_MEMBER)
} trilha_libpq;

/* Whatever begins with a URL or with a caller's connection asks this first. Thread-safe. UNSUPPORTED (LIBRARY_MISSING).
 */
trilha_status trilha_libpq_load(trilha_error *err) TRILHA_MUST_USE;
/* They are there; asked before anybody loaded them, it does, and what is missing then ends the process. */
const trilha_libpq *trilha_libpq_functions(void);

#define PQbackendPID         (trilha_libpq_functions()->PQbackendPID)
#define PQcancel             (trilha_libpq_functions()->PQcancel)
#define PQclear              (trilha_libpq_functions()->PQclear)
#define PQcmdStatus          (trilha_libpq_functions()->PQcmdStatus)
#define PQconnectPoll        (trilha_libpq_functions()->PQconnectPoll)
#define PQconnectStartParams (trilha_libpq_functions()->PQconnectStartParams)
#define PQconninfo           (trilha_libpq_functions()->PQconninfo)
#define PQconninfoFree       (trilha_libpq_functions()->PQconninfoFree)
#define PQconninfoParse      (trilha_libpq_functions()->PQconninfoParse)
#define PQconsumeInput       (trilha_libpq_functions()->PQconsumeInput)
#define PQenterPipelineMode  (trilha_libpq_functions()->PQenterPipelineMode)
#define PQerrorMessage       (trilha_libpq_functions()->PQerrorMessage)
#define PQexec               (trilha_libpq_functions()->PQexec)
#define PQexecParams         (trilha_libpq_functions()->PQexecParams)
#define PQexitPipelineMode   (trilha_libpq_functions()->PQexitPipelineMode)
#define PQfinish             (trilha_libpq_functions()->PQfinish)
#define PQflush              (trilha_libpq_functions()->PQflush)
#define PQfname              (trilha_libpq_functions()->PQfname)
#define PQfreeCancel         (trilha_libpq_functions()->PQfreeCancel)
#define PQfreemem            (trilha_libpq_functions()->PQfreemem)
#define PQgetCancel          (trilha_libpq_functions()->PQgetCancel)
#define PQgetResult          (trilha_libpq_functions()->PQgetResult)
#define PQgetisnull          (trilha_libpq_functions()->PQgetisnull)
#define PQgetlength          (trilha_libpq_functions()->PQgetlength)
#define PQgetvalue           (trilha_libpq_functions()->PQgetvalue)
#define PQhost               (trilha_libpq_functions()->PQhost)
#define PQinstanceData       (trilha_libpq_functions()->PQinstanceData)
#define PQisBusy             (trilha_libpq_functions()->PQisBusy)
#define PQisnonblocking      (trilha_libpq_functions()->PQisnonblocking)
#define PQnfields            (trilha_libpq_functions()->PQnfields)
#define PQnotifies           (trilha_libpq_functions()->PQnotifies)
#define PQntuples            (trilha_libpq_functions()->PQntuples)
#define PQpipelineStatus     (trilha_libpq_functions()->PQpipelineStatus)
#define PQpipelineSync       (trilha_libpq_functions()->PQpipelineSync)
#define PQregisterEventProc  (trilha_libpq_functions()->PQregisterEventProc)
#define PQresultErrorField   (trilha_libpq_functions()->PQresultErrorField)
#define PQresultStatus       (trilha_libpq_functions()->PQresultStatus)
#define PQsendPrepare        (trilha_libpq_functions()->PQsendPrepare)
#define PQsendQuery          (trilha_libpq_functions()->PQsendQuery)
#define PQsendQueryParams    (trilha_libpq_functions()->PQsendQueryParams)
#define PQsendQueryPrepared  (trilha_libpq_functions()->PQsendQueryPrepared)
#define PQsetInstanceData    (trilha_libpq_functions()->PQsetInstanceData)
#define PQsetNoticeReceiver  (trilha_libpq_functions()->PQsetNoticeReceiver)
#define PQsetnonblocking     (trilha_libpq_functions()->PQsetnonblocking)
#define PQsocket             (trilha_libpq_functions()->PQsocket)
#define PQstatus             (trilha_libpq_functions()->PQstatus)
#define PQtransactionStatus  (trilha_libpq_functions()->PQtransactionStatus)

#endif
